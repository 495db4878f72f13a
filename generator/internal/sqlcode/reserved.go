package sqlcode

import "strings"

// reserved are the words that an engine does not read as the name of a table or column where they are not quoted. They are of
// PostgreSQL, Appendix C, with those that can be a function or a type; SQLite, "SQLite Keywords"; MySQL, "Keywords and
// Reserved Words", with those of MariaDB, "Reserved Words".
var reserved = map[string][]string{
	"postgresql": strings.Fields(`
all analyse analyze and any array as asc asymmetric authorization between bigint binary bit both case cast check collate
collation column concurrently constraint create cross current_catalog current_date current_role current_schema current_time
current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from full
grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime
localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning right
select session_user similar some symmetric system_user table tablesample then to trailing true union unique user using
variadic verbose when where window with`),
	"sqlite": strings.Fields(`
abort action add after all alter always analyze and as asc attach autoincrement before begin between by cascade case cast
check collate column commit conflict constraint create cross current current_date current_time current_timestamp database
default deferrable deferred delete desc detach distinct do drop each else end escape except exclude exclusive exists explain
fail filter first following for foreign from full generated glob group groups having if ignore immediate in index indexed
initially inner insert instead intersect into is isnull join key last left like limit match materialized natural no not
nothing notnull null nulls of offset on or order others outer over partition plan pragma preceding primary query raise range
recursive references regexp reindex release rename replace restrict returning right rollback row rows savepoint select set
table temp temporary then ties to transaction trigger unbounded union unique update using vacuum values view virtual when
where window with without`),
	"mysql": strings.Fields(`
accessible add all alter analyze and array as asc asensitive before between bigint binary blob both by call cascade case
change char character check collate column condition constraint continue convert create cross cube cume_dist current_date
current_role current_time current_timestamp current_user cursor database databases day_hour day_microsecond day_minute
day_second dec decimal declare default delayed delete dense_rank desc describe deterministic distinct distinctrow div double
drop dual each else elseif empty enclosed escaped except exists exit explain false fetch first_value float float4 float8 for
force foreign from fulltext function generated get grant group grouping groups having high_priority hour_microsecond
hour_minute hour_second if ignore in index infile inner inout insensitive insert int int1 int2 int3 int4 int8 integer
intersect interval into io_after_gtids io_before_gtids is iterate join json_table key keys kill lag last_value lateral lead
leading leave left like limit linear lines load localtime localtimestamp lock long longblob longtext loop low_priority
master_bind master_ssl_verify_server_cert match maxvalue mediumblob mediumint mediumtext member middleint minute_microsecond
minute_second mod modifies natural no_write_to_binlog not nth_value ntile null numeric of offset on optimize optimizer_costs
option optionally or order out outer outfile over partition percent_rank precision primary procedure purge range rank read
reads read_write real recursive references regexp release rename repeat replace require resignal restrict return returning
revoke right rlike row row_number rows schema schemas second_microsecond select sensitive separator set show signal smallint
spatial specific sql sql_big_result sql_calc_found_rows sql_small_result sqlexception sqlstate sqlwarning ssl starting stored
straight_join system table terminated then tinyblob tinyint tinytext to trailing trigger true undo union unique unlock
unsigned update usage use using utc_date utc_time utc_timestamp values varbinary varchar varcharacter varying virtual when
where while window with write xor year_month zerofill`),
}
