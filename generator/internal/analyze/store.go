package analyze

import (
	"fmt"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/idemgen/idemgen/generator/internal/directive"
	"github.com/idemgen/idemgen/generator/internal/model"
)

// The engines, by sqlc's names.
const (
	postgresql = "postgresql"
	mysql      = "mysql"
	sqlite     = "sqlite"
)

// defaultTable is the name of the table of keys.
const defaultTable = "idempotency_keys"

// A choice is a package's wish for its store, before it is known who shares it.
type choice struct {
	scan  *scan
	store model.Store
	// explicit says that out= names the folder.
	explicit bool
	tablePos token.Position
}

// stores gives every package its store. Packages that name no folder get the nearest one above, be it there already or
// planned by this run, and else one of their own.
func (a *analyzer) stores(scans []*scan) []*model.Store {
	var choices []*choice
	for _, s := range scans {
		if len(s.handlers) == 0 {
			continue
		}
		if c := a.choose(s); c != nil {
			choices = append(choices, c)
		}
	}
	// Named folders first, then from the module's root downwards: a package finds what those above it have planned.
	planned := map[string]bool{}
	for _, dir := range a.prog.OwnStores {
		planned[dir] = true
	}
	for _, c := range choices {
		if c.explicit {
			planned[c.store.Dir] = true
		}
	}
	byDepth := slices.Clone(choices)
	slices.SortStableFunc(byDepth, func(x, y *choice) int {
		return strings.Count(x.scan.Dir, string(filepath.Separator)) - strings.Count(y.scan.Dir, string(filepath.Separator))
	})
	for _, c := range byDepth {
		if !c.explicit {
			c.store.Dir = nearestStore(c.scan, planned)
			planned[c.store.Dir] = true
		}
	}
	return a.share(choices)
}

// choose settles engine, driver, table and an explicit folder for one package.
func (a *analyzer) choose(s *scan) *choice {
	c := &choice{scan: s, store: model.Store{Pos: s.storePos()}}
	if !s.chooseDriver(&c.store) {
		return nil
	}
	ok := s.chooseEngine(&c.store)
	ok = s.checkNames(&c.store) && ok
	ok = s.chooseTable(c) && ok
	ok = s.checkSchema() && ok
	ok = s.chooseOut(c) && ok
	if !ok {
		return nil
	}
	return c
}

// storePos is where the package says what its store is: its directive, or its first handler.
func (s *scan) storePos() token.Position {
	if s.settings != nil {
		return s.settings.Pos
	}
	return s.handlers[0].Pos
}

// chooseDriver takes the driver from the handlers' transactions. Where none has one, as leases have none, it is the one that
// the package says, else sqlc's, else the only one that the engine has.
func (s *scan) chooseDriver(st *model.Store) bool {
	arg, given := s.settingsArg("driver")
	driver, ok := s.driver()
	switch {
	case !ok:
		return false
	case driver != "" && given:
		h := s.byDriver(driver)
		s.a.diags.Add(arg.Pos, codeDriverGiven, "remove driver=",
			"driver= is for packages where no handler has a transaction, and %s at %s takes %s, one of %s",
			h.Source, at(h.txPos), h.paramText(h.tx), driverText(driver))
		return false
	case driver != "":
		st.Driver = driver
		return true
	case given:
		st.Driver = model.Driver(arg.Value)
		return true
	case !slices.ContainsFunc(s.handlers, func(h *handler) bool { return h.Lease > 0 || h.NoBody }):
		return false // that there is no transaction has been reported
	}
	if engine, given := s.settingsArg("engine"); given && engine.Value != postgresql {
		st.Driver = model.SQL
		return true
	}
	conf, ok := s.sqlc()
	if !ok {
		return false
	}
	if conf != nil {
		if engines := conf.engines(); len(engines) == 1 && engines[0] != postgresql {
			st.Driver = model.SQL
			return true
		}
		if drivers := conf.drivers(); len(drivers) == 1 {
			st.Driver = drivers[0]
			return true
		}
	}
	if s.faulty {
		return false // it may be in what has been diagnosed
	}
	h := s.handlers[0]
	s.a.diags.Add(s.storePos(), codeNoDriver, "say it: //idem:package engine=postgresql driver=pgx, or driver=sql for database/sql",
		"no handler of package %s has a transaction, %s for one, so nothing tells which driver its keys are kept with", s.Name, h.Source)
	return false
}

// driver is the one that the handlers' transactions need, none where there are none; it reports two.
func (s *scan) driver() (model.Driver, bool) {
	var first *handler
	ok := true
	for _, h := range s.handlers {
		switch {
		case h.driver == "":
		case first == nil:
			first = h
		case first.driver != h.driver:
			s.a.diags.Add(h.txPos, codeTwoDrivers, "use one driver in a package, or move one of the handlers to another package",
				"%s takes %s, a transaction of %s, and %s at %s one of %s, %s; a package has one store, and a store one driver",
				h.Source, h.paramText(h.tx), driverText(h.driver),
				first.Source, at(first.txPos), driverText(first.driver), first.paramText(first.tx))
			ok = false
		}
	}
	if first == nil {
		return "", ok
	}
	return first.driver, ok
}

func driverText(d model.Driver) string {
	if d == model.PGX {
		return "pgx"
	}
	return "database/sql"
}

// sayEngine is the mend where nothing tells the engine.
const sayEngine = "say it: //idem:package engine=postgresql, engine=mysql (MariaDB too) or engine=sqlite"

// chooseEngine takes the engine from the directive, else from sqlc's configuration, else from the handlers.
func (s *scan) chooseEngine(st *model.Store) bool {
	conf, ok := s.sqlc()
	arg, given := s.settingsArg("engine")
	switch {
	case given:
		st.Engine = arg.Value
		if ok && conf != nil && !slices.Contains(conf.engines(), arg.Value) && len(conf.engines()) > 0 && conf.speaksFor(s) {
			s.otherEngine(arg, conf)
			return false
		}
	case !ok:
		return false
	case conf != nil:
		st.Engine = conf.engine(st.Driver)
	}
	if st.Engine == "" && st.Driver == model.PGX {
		st.Engine = postgresql
	}
	switch st.Engine {
	case "":
		if s.faulty {
			return false // engine= may be in what has been diagnosed
		}
		why := ""
		if conf != nil {
			why = fmt.Sprintf(", and %s has several engines", filepath.ToSlash(conf.file))
		}
		if !s.transactional() {
			s.a.diags.Add(s.enginePos(), codeNoEngine, sayEngine,
				"driver=sql does not tell which database engine package %s uses%s", s.Name, why)
			return false
		}
		h := s.byDriver(model.SQL)
		s.a.diags.Add(s.enginePos(), codeNoEngine, sayEngine,
			"%s takes %s, a transaction of database/sql, which does not tell which database engine package %s uses%s",
			h.Source, h.paramText(h.tx), s.Name, why)
		return false
	case postgresql, mysql, sqlite:
	default:
		pos := s.enginePos()
		from := ""
		if conf != nil && !given {
			from = " of " + filepath.ToSlash(conf.file)
		}
		s.a.diags.Add(pos, codeEngine, "idemgen supports postgresql, mysql and sqlite; say which with //idem:package engine=",
			"engine %s%s is not supported yet", st.Engine, from)
		return false
	}
	if st.Engine != postgresql && st.Driver == model.PGX && !s.transactional() {
		pos := s.enginePos()
		if arg, ok := s.settingsArg("driver"); ok {
			pos = arg.ValuePos
		}
		s.a.diags.Add(pos, codeEngineDriver, "write driver=sql, or correct the engine", "pgx is for PostgreSQL, and the engine is %s", st.Engine)
		return false
	}
	if st.Engine != postgresql && st.Driver == model.PGX {
		h := s.byDriver(model.PGX)
		mend := "take tx *sql.Tx, or correct the engine"
		if h.Params[h.tx].TxFunc != nil {
			mend = "let sqlc make them for database/sql, or correct the engine"
		}
		s.a.diags.Add(h.txPos, codeEngineDriver, mend,
			"%s takes %s, a transaction of pgx, which is for PostgreSQL, and the engine is %s", h.Source, h.paramText(h.tx), st.Engine)
		return false
	}
	return true
}

// checkNames checks that the names of the handlers are what the engine stores. Of a name= the parser has.
func (s *scan) checkNames(st *model.Store) bool {
	ok := true
	for _, h := range s.handlers {
		if st.Engine == mysql && strings.ContainsFunc(h.Name, func(r rune) bool { return r > unicode.MaxASCII }) {
			s.a.diags.Add(h.namePos, codeNameForm, "give another one with name=",
				"the name of %s is stored with every key, which on MySQL is ASCII: %s", h.Source, h.Name)
			ok = false
		}
	}
	return ok
}

// transactional says that a handler of the package has a transaction.
func (s *scan) transactional() bool {
	return slices.ContainsFunc(s.handlers, func(h *handler) bool { return h.driver != "" })
}

// otherEngine reports an engine= that is none of those of the configuration that the package's SQL is in.
func (s *scan) otherEngine(arg directive.Arg, conf *sqlcConfig) {
	engines := strings.Join(conf.engines(), ", ")
	beside := ""
	if filepath.Dir(conf.file) != s.Dir {
		beside = ", or by an sqlc.yaml beside the package"
	}
	mend := fmt.Sprintf("if package %s uses %s, tell sqlc so: by a second entry under sql: with engine: %s%s; if not, correct engine=",
		s.Name, arg.Value, arg.Value, beside)
	s.a.diags.Add(arg.ValuePos, codeOtherEngine, mend, "engine=%s is not the engine of %s, which says %s",
		arg.Value, filepath.ToSlash(conf.file), engines)
}

// byDriver is the first handler with a transaction of a driver; the package has one.
func (s *scan) byDriver(driver model.Driver) *handler {
	return s.handlers[slices.IndexFunc(s.handlers, func(h *handler) bool { return h.driver == driver })]
}

// enginePos is where an engine would be said.
func (s *scan) enginePos() token.Position {
	if arg, ok := s.settingsArg("engine"); ok {
		return arg.ValuePos
	}
	if s.settings != nil {
		return s.settings.Pos
	}
	if i := slices.IndexFunc(s.handlers, func(h *handler) bool { return h.driver == model.SQL }); i >= 0 {
		return s.handlers[i].txPos
	}
	return s.handlers[0].Pos
}

// maxIdentifier is PostgreSQL's limit; longer names are cut there without an error.
const maxIdentifier = 63

// indexSuffix is what package sqlcode puts behind the table's name for its index.
const indexSuffix = "_expires_at"

// mysqlOwn are the databases of the server itself.
var mysqlOwn = []string{"mysql", "information_schema", "performance_schema", "sys"}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// chooseTable takes the table's name.
func (s *scan) chooseTable(c *choice) bool {
	c.store.Table, c.tablePos = defaultTable, c.store.Pos
	arg, ok := s.settingsArg("table")
	if !ok {
		return true
	}
	c.tablePos = arg.ValuePos
	fail := func(hint, format string, args ...any) bool {
		s.a.diags.Add(arg.ValuePos, codeTable, hint, format, args...)
		return false
	}
	schema, table, qualified := strings.Cut(arg.Value, ".")
	if !qualified {
		schema, table = "", arg.Value
	}
	const form = "write letters, digits and _, as in table=idempotency_keys or table=billing.idempotency_keys"
	switch {
	case !identifier.MatchString(table) || qualified && !identifier.MatchString(schema):
		return fail(form, "table=%s is not the name of a table", arg.Value)
	case len(table)+len(indexSuffix) > maxIdentifier:
		return fail(fmt.Sprintf("use at most %d letters", maxIdentifier-len(indexSuffix)),
			"the table name %s is too long: its index, %s%s, has more than the %d bytes of an identifier", table, table, indexSuffix, maxIdentifier)
	case len(schema) > maxIdentifier:
		return fail(fmt.Sprintf("use at most %d letters", maxIdentifier), "the schema name %s is too long", schema)
	case c.store.Engine == sqlite && qualified:
		return fail("leave out the schema: table="+table, "SQLite has no schemas: table=%s", arg.Value)
	case c.store.Engine == sqlite && strings.HasPrefix(strings.ToLower(table), "sqlite_"):
		return fail("choose another name", "SQLite keeps names that begin with sqlite_ for itself: table=%s", arg.Value)
	case c.store.Engine == mysql && slices.Contains(mysqlOwn, strings.ToLower(schema)):
		return fail("choose another database", "MySQL keeps the database %s for itself: table=%s", strings.ToLower(schema), arg.Value)
	case c.store.Engine == postgresql && strings.HasPrefix(strings.ToLower(schema), "pg_"):
		return fail("choose another schema", "PostgreSQL keeps schemas that begin with pg_ for itself: table=%s", arg.Value)
	}
	c.store.Schema, c.store.Table = schema, table
	return true
}
