package sqlcrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/header"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/sqlcode"
)

// A Job is one store to compile.
type Job struct {
	Store *model.Store
	Files *sqlcode.Files
}

// A Runner runs sqlc. The zero value is ready to use.
type Runner struct {
	runs int
}

// Runs is how many times sqlc was started by r.
func (r *Runner) Runs() int { return r.runs }

// Compile compiles all jobs in one run of sqlc. It returns the Go files of each job, in order of their names; or nil
// where sqlc refused something, which is then in diags. An error is trouble of the machine.
func (r *Runner) Compile(ctx context.Context, jobs []Job, diags *diag.List) (out [][]sqlcode.File, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "idemgen-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	config, err := stage(dir, jobs)
	if err != nil {
		return nil, err
	}
	r.runs++
	err = inProcess(arguments(config))
	if errors.Is(err, errRefused) {
		var complaints string
		complaints, err = inChild(ctx, config)
		if complaints != "" {
			report(complaints, jobs, diags)
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		files, err := compiled(filepath.Join(dir, folder(i)))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, errors.New("bug in idemgen: sqlc succeeded without writing a file; please report it")
		}
		out = append(out, files)
	}
	return out, nil
}

// folder is the name of a job's staging folder. A sqlc complaint starts with it.
func folder(job int) string { return fmt.Sprintf("store%d", job) }

// stage writes the inputs of all jobs below dir, and one configuration for them.
func stage(dir string, jobs []Job) (config string, err error) {
	var blocks []sqlcode.Block
	for i, job := range jobs {
		sub := filepath.Join(dir, folder(i))
		if err := os.Mkdir(sub, 0o755); err != nil {
			return "", err
		}
		for _, f := range append(slices.Clone(job.Files.Queries), job.Files.Schema) {
			if err := os.WriteFile(filepath.Join(sub, f.Name), withoutHeader(f.Data), 0o644); err != nil {
				return "", err
			}
		}
		blocks = append(blocks, sqlcode.Block{Store: job.Store, Files: job.Files, Dir: folder(i)})
	}
	config = filepath.Join(dir, sqlcode.ConfigFile)
	return config, os.WriteFile(config, []byte(sqlcode.Config(blocks...)), 0o644)
}

// withoutHeader empties the first line, which sqlc would take for the first query's documentation. The lines keep
// their numbers.
func withoutHeader(data []byte) []byte {
	return []byte(strings.TrimPrefix(string(data), header.SQL))
}
