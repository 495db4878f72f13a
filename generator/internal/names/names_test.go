package names_test

import (
	"go/token"
	"go/types"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/idemgen/idemgen/generator/internal/names"
)

func TestScope(t *testing.T) {
	t.Parallel()
	s := names.NewScope("taken")
	assert.False(t, s.Free("taken"))
	assert.False(t, s.Free("func"), "a keyword")
	assert.False(t, s.Free("len"), "hides a predeclared name")
	assert.False(t, s.Free("_"))
	assert.False(t, s.Free(""))
	assert.Equal(t, "e", s.Unique("e"))
	assert.Equal(t, "event", s.Unique("e", "event"))
	assert.Equal(t, "event2", s.Unique("e", "event"))
	assert.Equal(t, "event3", s.Unique("event"))
	assert.Equal(t, "v2", s.Unique("?"))
	var zero names.Scope
	assert.Equal(t, "x", zero.Unique("x"))
	assert.False(t, zero.Free("x"))
}

func TestImports(t *testing.T) {
	t.Parallel()
	pkg := types.NewPackage("example.com/shop/orders", "orders")
	for _, name := range []string{"uuid", "context"} {
		pkg.Scope().Insert(types.NewTypeName(token.NoPos, pkg, name, types.Typ[types.Int]))
	}
	all := []struct{ path, name, want string }{
		{"context", "context", "context2"},
		{"time", "time", "time"},
		{"github.com/google/uuid", "uuid", "googleuuid"},
		{"github.com/gofrs/uuid/v5", "uuid", "gofrsuuid"},
		{"github.com/jackc/pgx/v5", "pgx", "pgx"},
		{"github.com/redis/go-redis/v9", "redis", "redis"},
		{"gopkg.in/yaml.v3", "yaml", "yaml"},
		{"example.com/shop/billing/store", "store", "store"},
		{"example.com/shop/orders/store", "store", "ordersstore"},
		{"example.com/shop/orders/v2/store", "store", "v2store"},
		{"example.com/shop/orders", "orders", ""},
		{"example.com/x/string", "string", "xstring"},
		{"example.com/x/reserved", "reserved", "xreserved"},
	}
	for range 20 {
		imports := names.NewImports(pkg)
		imports.Reserve("reserved")
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, p := range all {
			imports.Add(p.path, p.name)
		}
		for _, p := range all {
			assert.Equal(t, p.want, imports.Name(p.path, p.name), p.path)
		}
	}
}

// No import may be called init.
func TestImportCalledInit(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "exampleinit", names.NewImports(nil).Name("example.com/init", "init"))
}

func TestImportsList(t *testing.T) {
	t.Parallel()
	imports := names.NewImports(nil)
	imports.Add("example.com/unused", "unused")
	assert.Equal(t, "redis", imports.Name("github.com/redis/go-redis/v9", "redis"))
	assert.Equal(t, "pgx", imports.Name("github.com/jackc/pgx/v5", "pgx"))
	assert.Equal(t, "yaml", imports.Name("gopkg.in/yaml.v3", "yaml"))
	assert.Equal(t, "astore", imports.Qualifier(types.NewPackage("example.com/a/store", "astore")))
	// What comes late does not change what was said.
	assert.Equal(t, "exampleredis", imports.Name("example.com/redis", "redis"))
	assert.Equal(t, "redis", imports.Name("github.com/redis/go-redis/v9", "redis"))
	type line struct {
		path, name string
		explicit   bool
	}
	var got []line
	for _, imp := range imports.List() {
		got = append(got, line{imp.Path, imp.Name, imp.Explicit})
	}
	assert.Equal(t, []line{
		{"example.com/a/store", "astore", true},
		{"example.com/redis", "exampleredis", true},
		{"github.com/jackc/pgx/v5", "pgx", false},
		{"github.com/redis/go-redis/v9", "redis", true},
		{"gopkg.in/yaml.v3", "yaml", true},
	}, got)
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "IdempotentService", names.Wrapper("Service", true))
	assert.Equal(t, "idempotentService", names.Wrapper("service", false))
	assert.Equal(t, "Idempotent", names.Wrapper("", true))
	assert.Equal(t, "idempotent", names.Wrapper("", false))
	assert.Equal(t, "NewIdempotentService", names.Constructor("IdempotentService"))
	assert.Equal(t, "newIdempotentService", names.Constructor("idempotentService"))
	assert.Equal(t, "guardedPlaceOrder", names.Guarded("PlaceOrder"))
	assert.Equal(t, "guardedPlaceOrder", names.Guarded("placeOrder"))
	assert.Equal(t, "PlaceOrderHandler", names.Accessor("PlaceOrder"))
	assert.Equal(t, "specServicePlaceOrder", names.Spec("Service", "PlaceOrder"))
	assert.Equal(t, "specPlaceOrder", names.Spec("", "placeOrder"))
	assert.Equal(t, "idempotentDB", names.Wrapper("db", false))
	assert.Equal(t, "idempotentDBStore", names.Wrapper("dbStore", false))
	assert.Equal(t, "IdempotentDb", names.Wrapper("Db", true), "the user's own spelling")
	assert.Equal(t, "newIdempotentDB", names.Constructor("idempotentDB"))
	assert.Equal(t, "specDBPlace", names.Spec("db", "Place"))
	assert.Equal(t, "PlaceOrderArgs", names.ArgsStruct("", "PlaceOrder", true))
	assert.Equal(t, "ServicePlaceOrderArgs", names.ArgsStruct("Service", "PlaceOrder", true))
	assert.Equal(t, "placeOrderArgs", names.ArgsStruct("", "PlaceOrder", false), "of an unexported wrapper")
	assert.Equal(t, "placeOrderArgs", names.ArgsStruct("", "placeOrder", true), "of an unexported method")
	assert.Equal(t, "servicePlaceOrderArgs", names.ArgsStruct("service", "PlaceOrder", false))
	assert.Equal(t, "servicePlaceOrderArgs", names.ArgsStruct("Service", "placeOrder", true))
	assert.Equal(t, "urlArgs", names.ArgsStruct("", "URL", false))
}

func TestCase(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"log": "Log", "id": "ID", "db": "DB", "dbConn": "DBConn", "db_conn": "DB_conn", "json": "JSON", "ids": "Ids", "identity": "Identity", "projectID": "ProjectID", "E": "E", "_x": "X", "世": "X世", "Émile": "Émile", "über": "Über", "__": "X__",
	} {
		assert.Equal(t, want, names.Exported(name), name)
	}
	for name, want := range map[string]string{
		"Logger": "logger", "UUID": "uuid", "HTTPClient": "httpClient", "clock": "clock", "E": "e", "Ünd": "ünd", "ID": "id",
	} {
		assert.Equal(t, want, names.Unexported(name), name)
	}
}
