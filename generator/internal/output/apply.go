package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Temporary files are called so, beside the file that they are for.
const (
	tempPrefix = ".idemgen-"
	tempSuffix = ".tmp"
)

// Apply carries the plan out: it writes in order, and removes at the end. It returns the paths that it has written and
// removed, also with an error; those are whole, and the others as they were.
func (p *Plan) Apply(ctx context.Context) (written, removed []string, err error) {
	for _, dir := range p.folders {
		if err := sweep(dir); err != nil {
			return nil, nil, err
		}
	}
	for _, w := range p.writes {
		if err := ctx.Err(); err != nil {
			return written, nil, err
		}
		if err := w.do(); err != nil {
			return written, nil, fmt.Errorf("cannot write %s: %w", w.Path, err)
		}
		written = append(written, w.Path)
	}
	for _, r := range p.removals {
		if err := ctx.Err(); err != nil {
			return written, removed, err
		}
		failpoint(beforeRemoval)
		if err := os.Remove(r); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return written, removed, err
		}
		failpoint(afterRemoval)
		removed = append(removed, r)
	}
	for _, dir := range p.emptied {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			continue // gone already, or something else is in it
		}
		if err := os.Remove(dir); err != nil {
			return written, removed, err
		}
		removed = append(removed, dir)
	}
	return written, removed, nil
}

// sweep removes the temporary files of a run that was killed.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempPrefix) && strings.HasSuffix(e.Name(), tempSuffix) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// do writes one file. Another run's sweep may take our temporary file for a dead one's; then it is made once more.
func (w *write) do() error {
	if err := os.MkdirAll(filepath.Dir(w.target), newFolder); err != nil {
		return err
	}
	err := w.replace()
	if errors.Is(err, fs.ErrNotExist) {
		err = w.replace()
	}
	return err
}

// replace writes the data to a temporary file, syncs it, and renames it to the target.
func (w *write) replace() error {
	f, err := createTemp(filepath.Dir(w.target), w.perm)
	if err != nil {
		return err
	}
	failpoint(tempCreated)
	if err := fill(f, w); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	failpoint(beforeRename)
	if err := os.Rename(f.Name(), w.target); err != nil {
		if removeErr := os.Remove(f.Name()); !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
		return err
	}
	failpoint(afterRename)
	return nil
}

// fill writes the data into the temporary file and closes it.
func fill(f *os.File, w *write) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	half := len(w.Data) / 2
	if _, err := f.Write(w.Data[:half]); err != nil {
		return err
	}
	failpoint(halfWritten)
	if _, err := f.Write(w.Data[half:]); err != nil {
		return err
	}
	if w.exists {
		// The file keeps its mode, whatever the umask takes from new ones.
		if err := f.Chmod(w.perm); err != nil {
			return err
		}
	}
	return f.Sync()
}

// createTemp is os.CreateTemp with a mode of our own, from which the umask takes what it takes from every new file.
func createTemp(dir string, perm fs.FileMode) (*os.File, error) {
	for {
		path := filepath.Join(dir, fmt.Sprintf("%s%016x%s", tempPrefix, rand.Uint64(), tempSuffix))
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm|0o200)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}
