package directive

// A place is where a directive may stand.
type place int

const (
	topLevel  place = iota // of a file: it speaks for the package
	onHandler              // directly above a function, a method, or an interface's method
	onStates               // directly above a type, or at the top level of a file; it may be repeated
)

// A changeForm is how many steps a verb's change has.
type changeForm int

const (
	noChange  changeForm = iota
	oneStep              // from one or several states to one
	manySteps            // as many as there are
)

// A verb is one directive.
type verb struct {
	name    string
	place   place
	doc     string
	example string
	// change says that a column and states stand before the arguments, and syntax how help shows them.
	change changeForm
	syntax string
	args   []argument
}

// An argument is one name=value that a verb takes.
type argument struct {
	name     string
	syntax   string // of the value, as help shows it
	form     form
	required bool
	mend     string // what to do where a required one is missing
	doc      string
	words    []string          // the allowed values, for form oneOf
	others   map[string]string // what somebody may write for one of them
}

// A form says how a value is checked.
type form int

const (
	text        form = iota // anything
	oneOf                   // one of the argument's words
	window                  // see ParseWindow
	label                   // a handler's name
	lease                   // see ParseLease
	keys                    // a comma-separated list of paths to key parts
	files                   // a comma-separated list of file paths
	columnPaths             // a comma-separated list of column:Path
	columnPath              // one column:Path
	column                  // a column's name
)

// verbs is the registry.
var verbs = []verb{
	{
		name:  "package",
		place: topLevel,
		doc: "Says for the whole package where its keys are kept. It stands once, at the top level of one file. " +
			"What it leaves out comes from the nearest sqlc.yaml or sqlc.json above, then from the handlers: " +
			"pgx.Tx means PostgreSQL, *sql.Tx alone asks for engine=.",
		example: "//idem:package engine=postgresql out=../idemdb",
		args: []argument{
			{
				name: "engine", syntax: "postgresql|mysql|sqlite", form: oneOf, words: []string{"postgresql", "mysql", "sqlite"},
				others: map[string]string{"mariadb": "mysql"},
				doc:    "The database engine; mysql is MariaDB's too. Default: the one that sqlc's configuration or the handlers name.",
			},
			{
				name: "driver", syntax: "pgx|sql", form: oneOf, words: []string{"pgx", "sql"},
				doc: "The driver of the database: pgx, or database/sql. Only for a package where no handler has a " +
					"transaction; elsewhere the transaction tells. Default: sqlc's, and sql for MySQL and SQLite.",
			},
			{
				name: "schema", syntax: "PATH,…", form: files,
				doc: "The files or folders of your own schema, relative to the package. Default: sqlc's.",
			},
			{
				name: "out", syntax: "DIR", form: text,
				doc: "The folder of the generated store, relative to the package. Default: the nearest idemdb or " +
					"internal/idemdb that idemgen wrote, looking upwards to the module's root; else ./idemdb.",
			},
			{
				name: "table", syntax: "[SCHEMA.]TABLE", form: text,
				doc: "The table of keys; on MySQL a SCHEMA is a database. Default: idempotency_keys.",
			},
		},
	},
	{
		name:  "handler",
		place: onHandler,
		doc: "Guards a handler: a function, a method, or a method of an interface that the handlers implement. " +
			"Each business key runs once within the window; a repeat gets the first run's result.",
		example: "//idem:handler window=24h",
		args: []argument{
			{
				name: "window", syntax: "DURATION|forever", form: window, required: true,
				mend: "say how long a repeat must be recognised, as in window=24h, window=7d or window=forever: only the business knows it",
				doc: "How long a repeat is recognised: a Go duration in which d is a day (24h, 7d, 1d12h), at least 1m; " +
					"or forever.",
			},
			{
				name: "name", syntax: "NAME", form: label,
				doc: "The name under which keys are stored. It keeps them across renames. Default: package.Func or " +
					"package.Type.Method.",
			},
			{
				name: "key", syntax: "PATH,…", form: keys,
				doc: "The parts of the key, for payloads that cannot be tagged: fields, embedded or nested " +
					"(Args.OrderID), getters without arguments (GetOrderId()), or parameters by name (projectID).",
			},
			{
				name: "inflight", syntax: "wait|fail", form: oneOf, words: []string{"wait", "fail"},
				doc: "What a repeat does while the first run still runs: wait for its result (the default), or fail at " +
					"once with *InProgressError.",
			},
			{
				name: "lease", syntax: "DURATION", form: lease,
				doc: "Required for a handler without a transaction, whose effect is outside of the database, and only for " +
					"one: how long a key stays its owner's if the process dies, as in lease=30s; at least 1s. It is renewed " +
					"while the handler runs.",
			},
			{
				name: "expired", syntax: "retry|park", form: oneOf, words: []string{"retry", "park"},
				doc: "With lease=, what a delivery does that finds a key whose lease has passed: run the handler again " +
					"(the default), or park the key for a person, with ErrParked.",
			},
		},
	},
	{
		name:  "transition",
		place: onHandler,
		doc: "Makes a handler a change of state: one conditional UPDATE moves the row of the event from one of the states on the left of " +
			"the arrow to the one on its right, and decides whether the handler runs, in the same transaction. A repeat finds the row " +
			"moved already and does nothing; a row in another state is a *ConflictError. On a method of an interface there is no " +
			"handler's code at all. Without //idem:handler no key is stored, and two different events that ask for the same state " +
			"cannot be told apart. The table is checked against the schema that schema= or sqlc's configuration names.",
		example: "//idem:transition orders.status pending -> confirmed row=id:OrderID",
		change:  oneStep,
		syntax:  "[SCHEMA.]TABLE.COLUMN FROM[|FROM…] -> TO",
		args: []argument{
			{
				name: "row", syntax: "COLUMN:PATH,…", form: columnPaths, required: true,
				mend: "say which row the event is about, as in row=id:OrderID, or row=tenant_id:TenantID,id:OrderID",
				doc: "The columns that make up the row's identity, each with the field of the payload, the getter or the parameter " +
					"that it is compared with. They should cover a primary or unique key.",
			},
			{
				name: "version", syntax: "COLUMN", form: column,
				doc: "A column that counts the row's changes, an integer: it is incremented.",
			},
			{
				name: "expect", syntax: "COLUMN:PATH", form: columnPath,
				doc: "The version that the event knows: a row with another one is ErrStaleVersion.",
			},
			{
				name: "set", syntax: "COLUMN:PATH,…", form: columnPaths,
				doc: "Columns that are set together with the state, from the payload.",
			},
		},
	},
	{
		name:  "states",
		place: onStates,
		doc: "Says which changes of state there are: each arrow is one. It stands above the type of the states, a named string type whose " +
			"constants are then checked against it, or at the top level of a file. Several lines add up. Every //idem:transition of " +
			"the package on that column has to be one of the arrows, and so has each of other packages that the run sees with the same " +
			"schema, and a row that has gone on since is recognised as a repeat, where " +
			"every way to its state leads through the one that the event asks for.",
		example: "//idem:states orders.status pending -> confirmed -> shipped",
		change:  manySteps,
		syntax:  "[SCHEMA.]TABLE.COLUMN STATE[|STATE…] -> STATE[|STATE…] [-> …]",
	},
}

// planned are verbs and arguments that are not supported yet. They are not in the registry, and so in no help; the table
// only lets the parser say "not supported yet" where it would say "unknown".
var planned = struct {
	verbs []string
	args  map[string][]string // by verb
}{
	verbs: []string{"consume"},
	args: map[string][]string{
		"handler": {"keyversion", "compat"},
	},
}

// A role is what a tagged field is for.
type role struct {
	name    string
	role    TagRole
	doc     string
	options []string
}

// roles is the registry of tags.
var roles = []role{
	{"key", Key, "Part of the business key, in the order of the fields.", []string{"allowzero", "utc", "force"}},
	{"fingerprint", Fingerprint, "Compared on a repeat: the same key with another value is a sender's bug, and is reported.", []string{"utc"}},
	{"attempt", Attempt, "The number of the delivery attempt, for metrics only. It can never be part of a key.", nil},
}

// A tagOption is a word after a tag's role.
type tagOption struct {
	name string
	doc  string
	set  func(*Tag)
}

var tagOptions = []tagOption{
	{"allowzero", "The part may be zero or absent. Without it a zero part is ErrZeroKey at run time.", func(t *Tag) { t.AllowZero = true }},
	{"utc", "A time.Time may take part: its instant in UTC does, to the nanosecond.", func(t *Tag) { t.UTC = true }},
	{"force", "The field is a business key although its name is that of a delivery attempt.", func(t *Tag) { t.Force = true }},
}

// find returns the element of all that has the name, or nil.
func find[T any](all []T, nameOf func(*T) string, name string) *T {
	for i := range all {
		if nameOf(&all[i]) == name {
			return &all[i]
		}
	}
	return nil
}

// names returns the names of all.
func names[T any](all []T, nameOf func(*T) string) []string {
	out := make([]string, len(all))
	for i := range all {
		out[i] = nameOf(&all[i])
	}
	return out
}

func verbName(v *verb) string        { return v.name }
func argName(a *argument) string     { return a.name }
func roleName(r *role) string        { return r.name }
func optionName(o *tagOption) string { return o.name }
