package load

import (
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A visit collects the folders of one pattern.
type visit struct {
	*walker
	match   func(dir string, mod *module) bool
	goFiles int
}

// tree visits the folders below root that match, by the go command's rules: no testdata, nothing that begins with "."
// or "_", nothing below a folder called vendor, no other module, nothing that go.mod ignores. Unlike the go command it
// enters the modules of the workspace.
func (v *visit) tree(root string, mod *module, enter bool) {
	if v.ctx.Err() != nil {
		return
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		v.diags.Add(token.Position{}, codeGo, "make it readable", "%v", err)
		return
	}
	if mod != nil && v.match(root, mod) {
		v.add(root, mod, entries)
	}
	for _, e := range entries {
		name := e.Name()
		if !e.IsDir() || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" {
			continue
		}
		dir := filepath.Join(root, name)
		in := mod
		if other := v.mods.dir[dir]; other != nil {
			if !enter {
				continue
			}
			in = other
		} else if isFile(filepath.Join(dir, "go.mod")) {
			continue
		}
		if in != nil && in == mod && in.ignores(dir) {
			continue
		}
		if name == "vendor" {
			if in != nil && v.match(dir, in) {
				v.folder(dir, in)
			}
			continue
		}
		v.tree(dir, in, enter)
	}
}

// folder visits one folder.
func (v *visit) folder(dir string, mod *module) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		v.diags.Add(token.Position{}, codeGo, "make it readable", "%v", err)
		return
	}
	v.add(dir, mod, entries)
}

// add takes a folder that matches.
func (v *visit) add(dir string, mod *module, entries []fs.DirEntry) {
	f := &folder{dir: dir, module: mod}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() && name != GenFile {
			continue
		}
		names = append(names, name)
		if strings.HasSuffix(name, ".go") && !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, ".") {
			f.goFiles = append(f.goFiles, name)
		}
	}
	v.goFiles += len(f.goFiles)
	f.store = isStore(dir, names)
	if len(f.goFiles) > 0 || f.store {
		v.folders[dir] = f
	}
}

// end reports a pattern that has matched nothing.
func (v *visit) end(p string) {
	switch {
	case v.goFiles > 0 || v.ctx.Err() != nil:
	case v.bare:
		v.diags.Add(token.Position{}, codeNoPackage, "run idemgen ./...", "no packages are given, and this folder has no Go files")
	default:
		v.diags.Add(token.Position{}, codeNoPackage, patternHint, "pattern %s: there are no Go files", p)
	}
}
