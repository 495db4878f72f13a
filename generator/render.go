package generator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/idemgen/idemgen/generator/internal/fit"
	"github.com/idemgen/idemgen/generator/internal/gocode"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/output"
	"github.com/idemgen/idemgen/generator/internal/sqlcode"
	"github.com/idemgen/idemgen/generator/internal/sqlcrun"
)

// render renders everything that program asks for. Orphans are files that sqlc has made before and makes no longer.
func (r *run) render(ctx context.Context, program *model.Program) (files []output.File, orphans []string, err error) {
	stores, err := r.compile(ctx, program.Stores)
	if err != nil || r.diags.Len() > 0 {
		return nil, nil, err
	}
	// What sqlc has made decides how payloads become parameters, and so the packages' code.
	for _, s := range stores {
		if err := fit.Resolve(s.Store, s.out, &r.diags); err != nil {
			return nil, nil, err
		}
	}
	if r.diags.Len() > 0 {
		return nil, nil, nil
	}
	files, err = packageFiles(program.Packages)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range stores {
		more, obsolete, err := s.files()
		if err != nil {
			return nil, nil, err
		}
		files, orphans = append(files, more...), append(orphans, obsolete...)
	}
	return files, orphans, nil
}

// packageFiles renders the packages, as many at a time as there are processors.
func packageFiles(packages []*model.Package) ([]output.File, error) {
	files := make([]output.File, len(packages))
	errs := make([]error, len(packages))
	var workers sync.WaitGroup
	var next atomic.Int64
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(packages); i = next.Add(1) - 1 {
				files[i], errs[i] = packageFile(packages[i])
			}
		})
	}
	workers.Wait()
	return files, errors.Join(errs...)
}

func packageFile(p *model.Package) (f output.File, err error) {
	defer recovered(&err)
	code, err := gocode.Package(p)
	return output.File{Path: filepath.Join(p.Dir, gocode.PackageFile), Data: code, Order: output.Middle}, err
}

// store is a store on its way: what goes into sqlc, and what comes out of it.
type store struct {
	*model.Store
	in  *sqlcode.Files
	out []sqlcode.File
}

// compile renders the SQL of the stores and has it compiled: of none, if what stands on disk is what would come out; of
// those where it is not, all at once.
func (r *run) compile(ctx context.Context, stores []*model.Store) ([]*store, error) {
	var all, stale []*store
	var jobs []sqlcrun.Job
	for _, m := range stores {
		in, err := sqlcode.Render(m)
		if err != nil {
			return nil, err
		}
		storeGen, err := os.ReadFile(filepath.Join(m.Dir, gocode.StoreFile))
		if err != nil {
			storeGen = nil // absent; or in the way, and then output says so
		}
		s := &store{m, in, sqlcrun.Stands(m.Dir, storeGen, in)}
		all = append(all, s)
		if s.out == nil {
			stale = append(stale, s)
			jobs = append(jobs, sqlcrun.Job{Store: m, Files: in})
		}
	}
	if len(stale) == 0 {
		return all, nil
	}
	r.progress("compiling SQL")
	var runner sqlcrun.Runner
	compiled, err := runner.Compile(ctx, jobs, &r.diags)
	r.result.SQLCRuns = runner.Runs()
	if err != nil {
		return nil, err
	}
	for i, out := range compiled {
		stale[i].out = out
	}
	return all, nil
}

// files are the files of a store's folder. The configuration comes first: it is what marks the folder as ours. The
// stamp comes last: it vouches for all others.
func (s *store) files() (files []output.File, obsolete []string, err error) {
	add := func(f sqlcode.File, order output.Order) {
		files = append(files, output.File{Path: filepath.Join(s.Dir, f.Name), Data: f.Data, Order: order})
	}
	for _, f := range slices.Concat(s.in.Queries, []sqlcode.File{s.in.Schema}, s.out) {
		add(f, output.Middle)
	}
	add(s.in.Config, output.First)
	code, err := gocode.Store(s.Store, sqlcode.Table(s.Store), sqlcrun.StampPrefix+sqlcrun.Stamp(s.in, s.out))
	if err != nil {
		return nil, nil, err
	}
	add(sqlcode.File{Name: gocode.StoreFile, Data: code}, output.Last)
	obsolete, err = sqlcrun.Obsolete(s.Dir, s.out)
	return files, append(obsolete, s.Gone...), err
}
