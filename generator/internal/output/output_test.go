package output

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/diag"
	"github.com/idemgen/idemgen/generator/internal/header"
)

const (
	goHeader   = header.Go + "\n"
	sqlcHeader = header.SQLCGo + "\n"
	yamlHeader = header.YAML + "\n"
)

// tree writes files below a new folder and returns it.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// read returns all files below dir.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	}))
	return files
}

// wanted are files with that text and, for those in idemdb, with the order that the generator gives them.
func wanted(dir string, files map[string]string) []File {
	var out []File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := File{Path: filepath.Join(dir, name), Data: []byte(files[name]), Order: Middle}
		switch filepath.Base(name) {
		case "sqlc.yaml":
			f.Order = First
		case "store_gen.go":
			f.Order = Last
		}
		out = append(out, f)
	}
	return out
}

func plan(t *testing.T, files []File, orphans ...string) *Plan {
	t.Helper()
	var diags diag.List
	p, err := Make(files, orphans, &diags)
	require.NoError(t, err)
	require.Empty(t, diags.Sorted())
	return p
}

// relativeTo makes the paths comparable.
func relativeTo(dir string, paths []string) []string {
	out := []string{}
	for _, p := range paths {
		out = append(out, relative(dir, p))
	}
	return out
}

func TestWritesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"same.go":    goHeader + "package a\n",
		"crlf.go":    strings.ReplaceAll(goHeader+"package a\n", "\n", "\r\n"),
		"changed.go": goHeader + "package old\n",
	})
	files := wanted(dir, map[string]string{
		"same.go": goHeader + "package a\n", "crlf.go": goHeader + "package a\n", "changed.go": goHeader + "package a\n",
		"new.go": goHeader + "package a\n", "idemdb/store_gen.go": goHeader, "idemdb/db.go": sqlcHeader, "idemdb/sqlc.yaml": yamlHeader,
	})
	for range 50 {
		shuffled := slices.Clone(files)
		slices.Reverse(shuffled)
		p := plan(t, shuffled)
		var paths []string
		for _, c := range p.Changes(dir) {
			paths = append(paths, c.Path)
		}
		require.Equal(t, []string{"idemdb/sqlc.yaml", "changed.go", "idemdb/db.go", "new.go", "idemdb/store_gen.go"}, relativeTo(dir, paths))
	}
	written, removed, err := plan(t, files).Apply(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"idemdb/sqlc.yaml", "changed.go", "idemdb/db.go", "new.go", "idemdb/store_gen.go"}, relativeTo(dir, written))
	assert.Empty(t, removed)
	again := plan(t, files)
	assert.True(t, again.Empty())
	written, removed, err = again.Apply(t.Context())
	require.NoError(t, err)
	assert.Empty(t, written)
	assert.Empty(t, removed)
	assert.Contains(t, read(t, dir)["crlf.go"], "\r\n", "a checkout's line ends are no change")
}

func TestNothingForeignIsTouched(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"foreign.go":       "package a\n",
		"looks.go":         "package a\n" + goHeader,
		"almost.go":        "//" + header.Go[len("// "):] + "\n",
		"other/db.go":      sqlcHeader,
		"folder.go/x":      "",
		"file":             "",
		"idemdb/sqlc.yaml": "version: 2\n",
	})
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dead.go")))
	before := read(t, dir /* the dead link is no file */ +string(filepath.Separator)+"other")
	files := wanted(dir, map[string]string{
		"foreign.go": goHeader, "looks.go": goHeader, "almost.go": goHeader, "other/db.go": sqlcHeader + "x", "folder.go": goHeader,
		"file/x.go": goHeader, "dead.go": goHeader, "idemdb/sqlc.yaml": yamlHeader, "fine.go": goHeader,
	})
	var diags diag.List
	p, err := Make(files, nil, &diags)
	require.NoError(t, err)
	assert.Nil(t, p)
	got := map[string]diag.Code{}
	for _, d := range diags.Sorted() {
		got[relative(dir, d.Pos.Filename)] = d.Code
		assert.NotEmpty(t, d.Hint)
	}
	assert.Equal(t, map[string]diag.Code{
		"foreign.go": CodeForeign, "looks.go": CodeForeign, "almost.go": CodeForeign, "other/db.go": CodeForeign,
		"idemdb/sqlc.yaml": CodeForeign, "folder.go": CodeNotAFile, "file": CodeNoFolder, "dead.go": CodeDeadLink,
	}, got)
	assert.Equal(t, before, read(t, filepath.Join(dir, "other")))
	assert.NoFileExists(t, filepath.Join(dir, "fine.go"))
	for _, d := range diags.Sorted() {
		_, known := diag.Explain(d.Code)
		assert.True(t, known, "%s is in the table of codes", d.Code)
	}
}

func TestWhatACrashOrAMergeLeftIsReplaced(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"empty.go": "", "blank.go": "\n \n", "half.go": goHeader[:12], "bom.go": "\ufeff" + goHeader,
		"merge.go":         "<<<<<<< HEAD\n" + goHeader + "package a\n=======\n" + goHeader + ">>>>>>> other\n",
		"idemdb/sqlc.yaml": yamlHeader, "idemdb/db.go": "", "idemdb/models.go": sqlcHeader[:20],
		"idemdb/keys.sql.go": "<<<<<<< HEAD\n" + sqlcHeader,
	}
	dir := tree(t, files)
	for name := range files {
		files[name] = map[bool]string{true: yamlHeader, false: goHeader}[strings.HasSuffix(name, ".yaml")]
	}
	_, _, err := plan(t, wanted(dir, files)).Apply(t.Context())
	require.NoError(t, err)
	assert.Equal(t, files, read(t, dir))
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"a/idem_gen.go":       goHeader,
		"b/idem_gen.go":       "package b // somebody's\n",
		"idemdb/db.go":        sqlcHeader,
		"idemdb/keys.sql":     header.SQL + "\n",
		"idemdb/sqlc.yaml":    yamlHeader,
		"idemdb/store_gen.go": goHeader,
		"mixed/db.go":         sqlcHeader,
		"mixed/sqlc.yaml":     yamlHeader,
		"mixed/notes.md":      "",
		"mixed/mine.go":       "",
		"kept/old.sql.go":     sqlcHeader,
		"kept/store_gen.go":   goHeader,
		"theirs/db.go":        sqlcHeader,
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	files := wanted(dir, map[string]string{"kept/store_gen.go": goHeader})
	p := plan(t, files, at("a/idem_gen.go"), at("b/idem_gen.go"), at("idemdb"), at("mixed"), at("gone"), at("gone/x.go"),
		at("kept/old.sql.go"), at("kept/store_gen.go"), at("theirs"))
	for _, c := range p.Changes(dir) {
		assert.Equal(t, Orphan, c.Kind)
		assert.Empty(t, c.Diff, "naming it is enough")
	}
	_, removed, err := p.Apply(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{
		"a/idem_gen.go", "idemdb/db.go", "idemdb/keys.sql", "idemdb/store_gen.go", "idemdb/sqlc.yaml", "kept/old.sql.go",
		"mixed/db.go", "mixed/sqlc.yaml", "idemdb",
	}, relativeTo(dir, removed))
	assert.Equal(t, []string{"b/idem_gen.go", "kept/store_gen.go", "mixed/mine.go", "mixed/notes.md", "theirs/db.go"},
		slices.Sorted(maps.Keys(read(t, dir))))
	assert.True(t, plan(t, files, at("a/idem_gen.go"), at("idemdb")).Empty())
}

func TestDiff(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"sub/a.go": goHeader + "package a\n\nvar x = 1\n", "sub/c.go": ""})
	changes := plan(t, wanted(dir, map[string]string{
		"sub/a.go": goHeader + "package a\n\nvar x = 2\n", "sub/b.go": goHeader, "sub/c.go": goHeader,
	})).Changes(dir)
	require.Len(t, changes, 3)
	assert.Equal(t, Changed, changes[0].Kind)
	assert.Equal(t, "--- a/sub/a.go\n+++ b/sub/a.go\n@@ -1,4 +1,4 @@\n "+goHeader+" package a\n \n-var x = 1\n+var x = 2\n", changes[0].Diff)
	assert.Equal(t, Missing, changes[1].Kind)
	assert.Empty(t, changes[1].Diff, "naming it is enough")
	assert.Equal(t, Changed, changes[2].Kind)
	assert.Equal(t, "--- a/sub/c.go\n+++ b/sub/c.go\n@@ -0,0 +1 @@\n+"+goHeader, changes[2].Diff)
}

func TestModesAndLinks(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // it has neither
	}
	dir := tree(t, map[string]string{"real/a.go": goHeader, "b.go": goHeader})
	require.NoError(t, os.Chmod(filepath.Join(dir, "b.go"), 0o440))
	require.NoError(t, os.Symlink(filepath.Join("real", "a.go"), filepath.Join(dir, "a.go")))
	files := map[string]string{"a.go": goHeader + "x", "b.go": goHeader + "x", "c.go": goHeader + "x"}
	_, _, err := plan(t, wanted(dir, files)).Apply(t.Context())
	require.NoError(t, err)
	link, err := os.Readlink(filepath.Join(dir, "a.go"))
	require.NoError(t, err, "the link is still one")
	assert.Equal(t, filepath.Join("real", "a.go"), link)
	assert.Equal(t, goHeader+"x", read(t, dir)["real/a.go"])
	info, err := os.Stat(filepath.Join(dir, "b.go"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o440), info.Mode().Perm())
	info, err = os.Stat(filepath.Join(dir, "c.go"))
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o644), info.Mode().Perm()|0o044, "0644 less the umask")
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := plan(t, wanted(dir, map[string]string{"a.go": goHeader}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	written, _, err := p.Apply(ctx)
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, written)
	assert.Empty(t, read(t, dir))
}

func TestATemporaryFileOfADeadRunGoes(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a.go": goHeader, ".idemgen-0123.tmp": "half", ".idemgen.md": "mine"})
	_, _, err := plan(t, wanted(dir, map[string]string{"a.go": goHeader})).Apply(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{".idemgen.md", "a.go"}, slices.Sorted(maps.Keys(read(t, dir))))
}

func TestAFileTwiceIsABug(t *testing.T) {
	t.Parallel()
	_, err := Make([]File{{Path: "/x/a.go"}, {Path: "/x/a.go"}}, nil, new(diag.List))
	require.ErrorContains(t, err, "bug in idemgen")
}

// What is written once is the user's: nothing that is there is changed or complained about, be it a folder or a dead link.
func TestOnce(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"theirs_test.go": "package orders\n", "empty_test.go": "", "folder_test.go/file": "a\n"})
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "dead_test.go")))
	var files []File
	for _, name := range []string{"theirs_test.go", "empty_test.go", "folder_test.go", "dead_test.go", "new_test.go"} {
		files = append(files, File{Path: filepath.Join(dir, name), Data: []byte("package other\n"), Once: true})
	}
	var diags diag.List
	p, err := Make(files, nil, &diags)
	require.NoError(t, err)
	require.Zero(t, diags.Len())
	written, _, err := p.Apply(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(dir, "new_test.go")}, written)
	require.NoError(t, os.Remove(filepath.Join(dir, "dead_test.go")))
	assert.Equal(t, map[string]string{
		"theirs_test.go": "package orders\n", "empty_test.go": "", "folder_test.go/file": "a\n", "new_test.go": "package other\n",
	}, read(t, dir))
}
