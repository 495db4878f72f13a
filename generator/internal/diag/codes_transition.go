package diag

// transitionMeanings are the codes of transitions and states, of packages directive and analyze.
var transitionMeanings = []Meaning{
	{"IDEM300", "a transition or a state machine is not written as `table.column a -> b`"},
	{"IDEM301", "a transition leads from a state to itself"},
	{"IDEM302", "a transition's function has no transaction"},
	{"IDEM303", "a transition on an interface's method takes a transaction, and there is no code that could use it"},
	{"IDEM304", "a transition returns a result that nothing stores, or nothing makes"},
	{"IDEM305", "a transition is on a handler with a lease"},
	{"IDEM306", "a transition uses one column for two things"},

	{"IDEM310", "nothing says, or too much says, where the schema of a transition's table is"},
	{"IDEM311", "the schema cannot be read"},
	{"IDEM312", "the schema has no such table"},
	{"IDEM313", "the table is a view, or another thing whose rows affected cannot be relied on"},
	{"IDEM314", "the table has no such column"},
	{"IDEM315", "a column of that type holds no states"},
	{"IDEM316", "the column cannot hold a state: it is no label of the enum, a CHECK forbids it, or it is too long"},
	{"IDEM317", "the column of the state may be NULL"},
	{"IDEM318", "a generated column cannot be set"},
	{"IDEM319", "a version is not in an integer column that is NOT NULL"},
	{"IDEM320", "a value of the payload does not fit its column"},
	{"IDEM321", "two transitions that share a store have one name"},
	{"IDEM322", "a name of a transition on SQLite has letters that sqlc cannot compile there"},

	{"IDEM330", "`//idem:states` is on a type that is no named string type"},
	{"IDEM331", "a constant of the states' type is not in the machine"},
	{"IDEM332", "a state of the machine has no constant"},
	{"IDEM333", "a transition is no edge of the machine"},
	{"IDEM334", "no transition of the package is about the machine's column"},
	{"IDEM335", "a machine says something twice"},
	{"IDEM336", "a column with a machine is spelled in two ways"},
}
