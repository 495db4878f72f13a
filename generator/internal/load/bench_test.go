package load

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// BenchmarkLoad loads 1,000 handlers in 100 packages, among as many packages and files without directives, with
// everything that they import compiled before.
func BenchmarkLoad(b *testing.B) {
	for _, packages := range []int{10, 100} {
		b.Run(fmt.Sprintf("%dpackages", packages), func(b *testing.B) {
			tr := shop(b, packages)
			load := func() {
				var diags diag.List
				prog, err := Load(b.Context(), Config{Dir: tr.dir, Patterns: []string{"./..."}, Env: tr.env}, &diags)
				require.NoError(b, err)
				require.Len(b, prog.Packages, packages)
				require.Zero(b, diags.Len())
			}
			load() // warms the build cache
			for b.Loop() {
				load()
			}
		})
	}
}

// shop is a module with ten handlers in each package.
func shop(tb testing.TB, packages int) tree {
	tb.Helper()
	tr := newTree(tb, goMod)
	for i := range packages {
		var src strings.Builder
		fmt.Fprintf(&src, "package p%d\n\nimport (\n\t\"context\"\n\t\"database/sql\"\n\t\"fmt\"\n)\n\ntype Service struct{}\n", i)
		for h := range 10 {
			fmt.Fprintf(&src, `
// Event%[1]d arrives from a queue.
type Event%[1]d struct {
	TenantID string `+"`json:\"tenant_id\" idem:\"key\"`"+`
	OrderID  int64  `+"`json:\"order_id\" idem:\"key\"`"+`
	Total    int64  `+"`json:\"total\" idem:\"fingerprint\"`"+`
}

// Handle%[1]d handles it.
//
//idem:handler window=24h
func (s *Service) Handle%[1]d(ctx context.Context, tx *sql.Tx, e Event%[1]d) error {
	for i := range 10 {
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES ($1, $2, $3)", e.TenantID, e.OrderID, e.Total+int64(i)); err != nil {
			return fmt.Errorf("insert: %%w", err)
		}
	}
	return nil
}
`, h)
		}
		write(tb, filepath.Join(tr.dir, "handlers", fmt.Sprintf("p%d", i), "service.go"), src.String())
		write(tb, filepath.Join(tr.dir, "plain", fmt.Sprintf("p%d", i), "plain.go"), strings.ReplaceAll(src.String(), "idem:", "other:"))
	}
	return tr
}
