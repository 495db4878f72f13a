package output

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// The codes of this package: IDEM500 to IDEM599.
const (
	CodeForeign  diag.Code = "IDEM501" // the file is there and not generated
	CodeNotAFile diag.Code = "IDEM502" // a folder, or something else that is no file, has the file's name
	CodeNoFolder diag.Code = "IDEM503" // a file has the name of a folder
	CodeDeadLink diag.Code = "IDEM504" // the file is a symbolic link to nothing
)

// The modes of what is new. A file that is there keeps its own.
const (
	newFile   fs.FileMode = 0o644
	newFolder fs.FileMode = 0o755
)

// An Order says when a file is written: files of a lower one first.
type Order int

// The orders.
const (
	First  Order = iota // what makes a folder ours
	Middle              // everything else
	Last                // what vouches for others
)

// A File is a file as it should be.
type File struct {
	Path  string // absolute
	Data  []byte
	Order Order
	// Once says that the file is written where there is nothing of its name, and is nobody's business of ours after that.
	Once bool
}

// A Plan is what has to be done to a disk.
type Plan struct {
	writes   []write
	removals []string
	folders  []string // that the files and orphans are in
	emptied  []string // folders to remove once they are empty
}

type write struct {
	File
	target string // Path with links followed
	old    []byte
	exists bool
	perm   fs.FileMode
}

// Make compares files with the disk. Orphans are generated files and folders that are to go; of folders, only what is
// generated goes. Make returns nil where diags got something to say, and reads only.
func Make(files []File, orphans []string, diags *diag.List) (*Plan, error) {
	p := &Plan{}
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), cmp.Compare(a.Path, b.Path))
	})
	before := diags.Len()
	planned := map[string]bool{}
	for _, f := range sorted {
		if planned[f.Path] {
			return nil, fmt.Errorf("bug in idemgen: %s is generated twice; please report it", f.Path)
		}
		planned[f.Path] = true
		p.folder(filepath.Dir(f.Path))
		if err := p.compare(f, diags); err != nil {
			return nil, err
		}
	}
	for _, path := range slices.Sorted(slices.Values(orphans)) {
		if err := p.orphan(path, planned); err != nil {
			return nil, err
		}
	}
	if diags.Len() > before {
		return nil, nil
	}
	return p, nil
}

// Empty says that there is nothing to do.
func (p *Plan) Empty() bool { return len(p.writes) == 0 && len(p.removals) == 0 }

func (p *Plan) folder(dir string) {
	if !slices.Contains(p.folders, dir) {
		p.folders = append(p.folders, dir)
	}
}

// compare plans the writing of one file, if it is needed and allowed.
func (p *Plan) compare(f File, diags *diag.List) error {
	w := write{File: f, target: f.Path, perm: newFile}
	info, err := os.Lstat(f.Path)
	if err == nil && f.Once {
		return nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		w.target, err = filepath.EvalSymlinks(f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			diags.Add(at(f.Path), CodeDeadLink, "remove the link, or create the file that it should lead to",
				"%s is a symbolic link that leads nowhere", filepath.Base(f.Path))
			return nil
		}
		if err == nil {
			info, err = os.Stat(w.target)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		if inTheWay := notAFolder(filepath.Dir(f.Path)); inTheWay != "" {
			diags.Add(at(inTheWay), CodeNoFolder, "move the file, or let out= of //idem:package name another folder",
				"a file stands where the folder %s has to be", filepath.Base(inTheWay))
			return nil
		}
		p.writes = append(p.writes, w)
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		diags.Add(at(f.Path), CodeNotAFile, "move it away: idemgen writes a file of that name",
			"%s is not a file", filepath.Base(f.Path))
		return nil
	}
	if w.old, err = os.ReadFile(w.target); err != nil {
		return err
	}
	w.exists, w.perm = true, info.Mode().Perm()
	switch {
	case bytes.Equal(unix(w.old), unix(f.Data)):
	case !replaceable(f.Path, w.old):
		diags.Add(at(f.Path), CodeForeign, "move it away or remove it: idemgen writes a file of that name",
			"%s is there, and idemgen has not written it", filepath.Base(f.Path))
	default:
		p.writes = append(p.writes, w)
	}
	return nil
}

// notAFolder returns what is no folder but should be, of dir and the folders above it; empty if nothing.
func notAFolder(dir string) string {
	for {
		info, err := os.Stat(dir)
		if err == nil {
			if info.IsDir() {
				return ""
			}
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// orphan plans the removal of a file, or of all that is generated in a folder. What the folder is known by goes last,
// so that a run that ends in between leaves something for the next one to find.
func (p *Plan) orphan(path string, planned map[string]bool) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		p.folder(filepath.Dir(path))
		return p.remove(path, planned)
	}
	p.folder(path)
	p.emptied = append(p.emptied, path)
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		return cmp.Compare(slices.Index(marks, a.Name()), slices.Index(marks, b.Name()))
	})
	for _, e := range entries {
		if err := p.remove(filepath.Join(path, e.Name()), planned); err != nil {
			return err
		}
	}
	return nil
}

// remove plans the removal of a file, if it is generated and no longer wanted.
func (p *Plan) remove(path string, planned map[string]bool) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || planned[path] {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if generated(path, old) {
		p.removals = append(p.removals, path)
	}
	return nil
}

func at(path string) token.Position { return token.Position{Filename: path} }

// unix is a text without the carriage returns that a checkout may have added: they are no difference.
func unix(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")) }
