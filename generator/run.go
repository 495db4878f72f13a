package generator

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/idemgen/idemgen/generator/internal/analyze"
	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/load"
	"github.com/idemgen/idemgen/generator/internal/model"
	"github.com/idemgen/idemgen/generator/internal/output"
)

// Run loads, analyzes and renders the packages that cfg names, and then writes, compares or lists. Faults of the source
// come back as a *DiagnosticsError. Where writing fails, the Result is returned with the error and says which files had
// been written; each file is either as it was or whole.
func Run(ctx context.Context, cfg Config) (result *Result, err error) {
	defer recovered(&err)
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	r := &run{cfg: cfg, dir: dir, result: &Result{}}
	if err := r.stages(ctx); err != nil {
		return r.result, err
	}
	return r.result, nil
}

// recovered makes an error of a panic. It is deferred on every goroutine that runs a stage.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("bug in idemgen: panic: %v\nplease report it at %s with this text:\n%s", r, issues, debug.Stack())
	}
}

const issues = "https://github.com/idemgen/idemgen/issues"

// run is one Run on its way.
type run struct {
	cfg    Config
	dir    string
	diags  diag.List
	result *Result
}

func (r *run) stages(ctx context.Context) error {
	r.progress("loading packages")
	loaded, err := load.Load(ctx, load.Config{
		Dir: r.dir, Patterns: r.cfg.Patterns, Tags: r.cfg.Tags, Env: r.cfg.Env,
	}, &r.diags)
	if err != nil || loaded == nil {
		return r.faults(err)
	}
	r.result.Loads = loaded.Loads
	// Faults met so far do not end the run here: the user is shown those of all other packages as well.
	r.progress("analyzing handlers")
	program := analyze.Analyze(loaded, &r.diags)
	if err := r.faults(nil); err != nil {
		return err
	}
	r.result.Handlers, r.result.Graphs = handlers(program), graphs(program)
	r.result.RuntimeGet = runtimeGet(program, r.dir)
	if r.cfg.Mode == List {
		return nil
	}
	files, orphans, err := r.render(ctx, program)
	if err := r.faults(err); err != nil {
		return err
	}
	var tests []output.File
	if r.cfg.Replays && r.cfg.Mode == Generate {
		tests, err = r.replays(program.Packages)
		if err != nil {
			return err
		}
		files = append(files, tests...)
	}
	plan, err := output.Make(files, append(orphans, program.Orphans...), &r.diags)
	if err := r.faults(err); err != nil {
		return err
	}
	if r.cfg.Mode == Check {
		for _, c := range plan.Changes(r.dir) {
			r.result.Changes = append(r.result.Changes, Change{c.Path, ChangeKind(c.Kind), c.Diff})
		}
		return nil
	}
	r.progress("writing files")
	r.result.Written, r.result.Removed, err = plan.Apply(ctx)
	if err == nil && len(r.result.Written) > 0 {
		for _, note := range program.Notes {
			r.result.Notes = append(r.result.Notes, diag.Relative(note, r.dir))
		}
		for _, test := range tests {
			note := test.Path + " is yours: fill in what its tests cannot know, they fail until then"
			r.result.Notes = append(r.result.Notes, diag.Relative(note, r.dir))
		}
	}
	return err
}

// faults is the error of a stage: the diagnostics, if there are any, because they say more than err.
func (r *run) faults(err error) error {
	if r.diags.Len() > 0 {
		return &DiagnosticsError{r.diags.Sorted()}
	}
	return err
}

func (r *run) progress(stage string) {
	if r.cfg.Progress != nil {
		r.cfg.Progress(stage)
	}
}

// mode is a handler's mode as a list shows it.
func mode(h *model.Handler) string {
	switch {
	case h.Lease > 0:
		return "lease"
	case h.Bare:
		return "transition"
	default:
		return "transaction"
	}
}

func handlers(program *model.Program) []HandlerInfo {
	var out []HandlerInfo
	for _, p := range program.Packages {
		for _, g := range p.Groups {
			for _, h := range g.Handlers {
				info := HandlerInfo{
					Name: h.Name, Package: p.Path, Func: h.Source, Key: h.Shape, Window: h.WindowAs, Mode: mode(h),
					Engine: p.Store.Engine, Driver: string(p.Store.Driver), Pos: h.Pos,
				}
				if t := h.Transition; t != nil {
					info.Transition, info.Row, info.OneRow = change(t), rowOf(t), t.Unique
				}
				for _, f := range h.Fingerprint {
					info.Fingerprint = append(info.Fingerprint, f.Label)
				}
				out = append(out, info)
			}
		}
	}
	return out
}
