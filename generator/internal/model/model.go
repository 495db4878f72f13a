package model

import (
	"go/token"
	"go/types"
	"time"
)

// Program is everything that one run generates.
type Program struct {
	Packages []*Package // with at least one handler, by import path
	Stores   []*Store   // each once, by directory
	// Orphans are files and folders with our header whose reason is gone, absolute and sorted: they are removed.
	Orphans []string
	// Notes are what the user may not have meant, to be said once it is written: one line each, with absolute paths.
	Notes []string
}

// Module is the Go module that a package belongs to.
type Module struct {
	Path      string
	Dir       string // absolute
	GoVersion string // "1.25", as in go.mod; empty where it says none
}

// Package is one package with handlers. Its generated file is Dir/idem_gen.go.
type Package struct {
	Name   string
	Path   string
	Dir    string // absolute
	Types  *types.Package
	Module Module
	Store  *Store
	// Constraint is the build constraint that the generated file carries, as in "integration && linux"; empty for none.
	Constraint string
	Groups     []*Group   // in order of their first handler's position
	Machines   []*Machine // in order of their first directive's position
	// RuntimeMissing says that the module does not require the runtime yet.
	RuntimeMissing bool
}

// Driver says which Go driver the generated code uses.
type Driver string

// The drivers: package idempgx of the runtime, and package idemsql, or for MySQL idemmysql.
const (
	PGX Driver = "pgx"
	SQL Driver = "sql"
)

// Store is one idemdb package, shared by the packages that name it.
type Store struct {
	Dir        string // absolute
	ImportPath string
	Name       string // the Go package's name: the folder's base name, made an identifier
	Engine     string // "postgresql", "mysql" or "sqlite": sqlc's name
	Driver     Driver
	Schema     string // the table's schema, unquoted; empty for none
	Table      string // the table's name, unquoted
	// Pos is where the first package that uses it says so: for diagnostics about the store as a whole.
	Pos token.Position
	// UserSchema is the files of the user's own schema, which the statements of transitions are compiled against: where
	// there are any, and else none.
	UserSchema []SchemaFile
	// UserPaths are the files and folders that they come from, absolute.
	UserPaths []string
	// OwnTable says that the user's schema has the table of keys, so that the store's own file would make it twice.
	OwnTable bool
	// Transitions are the packages with transitions whose statements are kept here, by name.
	Transitions []*QueryFile
	// Gone are files of statements whose package has none any more, absolute.
	Gone []string
}

// SchemaFile is one file of a user's schema.
type SchemaFile struct {
	Path string // absolute
	Text []byte
}

// QueryFile is the statements of one package's transitions.
type QueryFile struct {
	Name    string // of the file: "orders.sql"
	Package string // import path
	// Text is the file as it stands, of a package that this run does not write anew; else nil, and Transitions says it.
	Text        []byte
	Transitions []*Transition
	// Tables is a digest of the definitions of the tables that they are about, by which a change of those is noticed.
	Tables string
}

// GroupKind says what the handlers of a group are declared on.
type GroupKind int

// The kinds of group.
const (
	Methods   GroupKind = iota // of one named type: IdempotentService wraps it
	Functions                  // of the package: Idempotent
	Interface                  // methods of one interface: a decorator
)

// Group is one generated type: all handlers of one receiver type, one interface, or the package's functions.
type Group struct {
	Kind GroupKind
	// Type is the receiver's named type or the interface's; nil for functions.
	Type *types.Named
	// Pointer says that the constructor takes *Type: some handler has a pointer receiver. Never for an interface.
	Pointer     bool
	Name        string // IdempotentService, Idempotent, IdempotentHandlers
	Constructor string // NewIdempotentService
	Handlers    []*Handler
	// Forwards are the methods of an interface that are not annotated, embedded ones included, sorted by name.
	Forwards []*types.Func
}

// Handler is one annotated function or method: in transaction mode, or with a lease.
type Handler struct {
	Pos    token.Position // of the name in its declaration
	Method string         // PlaceOrder
	// Source is how documentation names it: "Service.PlaceOrder" or "PlaceOrder".
	Source string
	// Name is the stored half of a row's identity: "orders.Service.PlaceOrder", or what name= says.
	Name   string
	Func   *types.Func
	Params []Param
	// Payload is the index in Params of the only parameter besides context and transaction, which is E itself;
	// -1 where a generated argument struct is E.
	Payload int
	// Args is the name of the generated argument struct, "PlaceOrderArgs"; empty where Payload says E.
	Args string
	// Result is R; nil for a handler that returns only an error.
	Result types.Type
	// Message says that R is a pointer to a protobuf message, which protobuf encodes.
	Message bool

	Window   time.Duration // 0 with Forever
	Forever  bool
	WindowAs string // as the user wrote it: "24h", "7d", "forever"
	FailFast bool   // inflight=fail
	// Lease is how long a key stays its owner's; 0 in transaction mode.
	Lease   time.Duration
	LeaseAs string // as the user wrote it
	Park    bool   // expired=park

	// Transition is the change of state that decides whether the handler runs; nil for none.
	Transition *Transition
	// Bare says that there is only a Transition: no key is stored, and there are no window and no key.
	Bare bool
	// NoBody says that there is nothing to run beside the transition: the handler is a method of an interface.
	NoBody bool

	Key         []Part // empty only where Bare is set
	Shape       string // "TenantID:string/OrderID:uuid"
	KeyVersion  int    // 1
	Fingerprint []Part // may be empty
	Attempt     *Part  // nil for none; its guards make an absent attempt 0
}

// Role is what a parameter is to the wrapper.
type Role int

// The roles of a parameter.
const (
	Context Role = iota
	Tx           // the transaction: dropped from the generated signature
	Value        // everything else
)

// Param is a parameter of the handler, in the order of its signature.
type Param struct {
	Role Role
	// Name is a usable identifier, unique in its signature and no keyword, and not "_": the user's where possible.
	Name string
	Type types.Type
	// Field is the name in the generated argument struct, exported and unique there. Empty where there is no such struct.
	Field string
	// TxFunc is, for a transaction that is a sqlc *Queries, the constructor to call with the transaction (store.New).
	// It is nil where the transaction is passed as it is.
	TxFunc *types.Func
}

// Part is one value taken from the parameters: of the key, of the fingerprint, or the attempt.
type Part struct {
	Pos   token.Position // of the field, or of the path in key=
	Label string         // "TenantID", "Order.ID", "GetOrderId()": for the key's shape and for errors
	Param int            // index in Handler.Params
	Steps []Step         // from the parameter to the value
	// Guards must hold, in order of depth, before the value can be read; else the part is absent.
	Guards []Guard
	Deref  bool // the expression is a pointer (guarded): the value is what it points to
	Encode Encoding
	// Type is the value's type, after Deref: encoders convert where it is not the builder's own.
	Type types.Type
	// Zero says how an Encode of Text finds out that a value is zero.
	Zero ZeroTest
	// AddrOf says that an Encode of Text needs the value's address: MarshalText has a pointer receiver.
	AddrOf    bool
	AllowZero bool
}

// Step goes from a value to a field of it or to a getter's result.
type Step struct {
	Name string
	Call bool // a method without arguments
}

// Guard is one condition of a Part's presence.
type Guard struct {
	Depth int    // after so many steps: 0 is the parameter
	Field string // a bool field that must be true ("Valid"); empty: the value must not be nil
}

// Encoding names the builder method that takes the value.
type Encoding string

// The encodings, with the type that the builder takes.
const (
	String Encoding = "string" // string
	Int    Encoding = "int"    // int64
	Uint   Encoding = "uint"   // uint64
	Bool   Encoding = "bool"   // bool
	Float  Encoding = "float"  // float64; fingerprints only
	UUID   Encoding = "uuid"   // [16]byte
	Bytes  Encoding = "bytes"  // []byte; an array is sliced
	Text   Encoding = "text"   // encoding.TextMarshaler
	Time   Encoding = "time"   // time.Time, in UTC
)

// ZeroTest says how generated code tells a zero value.
type ZeroTest int

// The zero tests for Encode Text.
const (
	ZeroByText   ZeroTest = iota // an empty text
	ZeroByMethod                 // value.IsZero()
	ZeroByValue                  // value == T{}, for comparable types; or an empty text
)
