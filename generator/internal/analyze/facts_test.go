package analyze_test

import (
	"go/types"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/analyze"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/sqlcode"
)

// TestTxMethods compares the table of the transactions' methods with the drivers'.
func TestTxMethods(t *testing.T) {
	t.Parallel()
	lib, err := library()
	require.NoError(t, err)
	real := map[model.Driver]types.Type{
		model.PGX: lib["github.com/jackc/pgx/v5"].Scope().Lookup("Tx").Type(),
		model.SQL: types.NewPointer(lib["database/sql"].Scope().Lookup("Tx").Type()),
	}
	for driver, typ := range real {
		got := map[string]string{}
		for sel := range types.NewMethodSet(typ).Methods() {
			if fn := sel.Obj().(*types.Func); fn.Exported() {
				got[fn.Name()] = analyze.Shape(fn.Signature())
			}
		}
		assert.Equal(t, analyze.TxMethods[driver], got, "%s", driver)
	}
}

// TestNullables compares the table of nullable types with the packages that are at hand.
func TestNullables(t *testing.T) {
	t.Parallel()
	lib, err := library()
	require.NoError(t, err)
	for _, path := range []string{"database/sql", "github.com/jackc/pgx/v5/pgtype"} {
		require.NotEmpty(t, analyze.Nullables[path])
		for name, fields := range analyze.Nullables[path] {
			obj := lib[path].Scope().Lookup(name)
			require.NotNil(t, obj, "%s.%s", path, name)
			st, ok := obj.Type().Underlying().(*types.Struct)
			require.True(t, ok, "%s.%s", path, name)
			found := map[string]types.Type{}
			for v := range st.Fields() {
				found[v.Name()] = v.Type()
			}
			assert.Contains(t, found, fields.Value, "%s.%s", path, name)
			assert.Equal(t, types.Typ[types.Bool], found[fields.Valid], "%s.%s", path, name)
		}
	}
}

// TestReadStore reads back what package sqlcode writes for each kind of store.
func TestReadStore(t *testing.T) {
	t.Parallel()
	for _, st := range []model.Store{
		{Engine: "postgresql", Driver: model.PGX, Table: "idempotency_keys"},
		{Engine: "postgresql", Driver: model.SQL, Schema: "billing", Table: "claimed"},
		{Engine: "sqlite", Driver: model.SQL, Table: "idempotency_keys"},
		{Engine: "mysql", Driver: model.SQL, Table: "idempotency_keys"},
		{Engine: "mysql", Driver: model.SQL, Schema: "billing", Table: "claimed"},
	} {
		st.Name = "idemdb"
		dir := t.TempDir()
		files, err := sqlcode.Render(&st)
		require.NoError(t, err)
		for _, f := range files.All() {
			require.NoError(t, os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o644))
		}
		got, ok := analyze.ReadStore(dir)
		require.True(t, ok)
		assert.Equal(t, st.Engine, got.Engine)
		assert.Equal(t, st.Driver, got.Driver)
		assert.Equal(t, sqlcode.Table(&st), got.Table)
		assert.Equal(t, analyze.Quoted(&st), got.Table)
		assert.Contains(t, string(files.Schema.Data), st.Table+analyze.IndexSuffix)
	}
}
