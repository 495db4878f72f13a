package sqlcrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
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
		schema, err := stageSchema(dir, i, job.Files.UserSchema)
		if err != nil {
			return "", err
		}
		blocks = append(blocks, sqlcode.Block{Store: job.Store, Files: job.Files, Dir: folder(i), UserSchema: schema})
	}
	config = filepath.Join(dir, sqlcode.ConfigFile)
	return config, os.WriteFile(config, []byte(sqlcode.Config(blocks...)), 0o644)
}

// stageSchema writes copies of a user's schema, each in a folder of its own, because sqlc knows them by their names and reads
// nothing from outside of its configuration's folder. It returns their paths relative to dir.
func stageSchema(dir string, job int, files []model.SchemaFile) ([]string, error) {
	var out []string
	for n, f := range files {
		name := path.Join(userFolder(job, n), filepath.Base(f.Path))
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(filepath.FromSlash(name))), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), f.Text, 0o644); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, nil
}

// userFolder is the name of the staging folder of one file of a user's schema. A sqlc complaint starts with it.
func userFolder(job, n int) string { return fmt.Sprintf("schema%d-%d", job, n) }

// withoutHeader empties the comments that a file begins with, up to the first query's name: sqlc would take them for that
// query's documentation. The lines keep their numbers.
func withoutHeader(data []byte) []byte {
	text := string(data)
	head := len(text)
	if i := strings.Index(text, "\n-- name:"); i >= 0 {
		head = i
	} else if !strings.HasPrefix(text, header.SQL) {
		return data
	}
	var b strings.Builder
	for line := range strings.Lines(text[:head]) {
		switch {
		case !strings.HasPrefix(line, "--"):
			b.WriteString(line)
		case strings.HasSuffix(line, "\n"):
			b.WriteString("\n")
		}
	}
	return []byte(b.String() + text[head:])
}
