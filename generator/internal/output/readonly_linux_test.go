package output

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asOrdinaryUser lets this test's thread meet the file system as somebody whom permissions bind, until the function
// returned is called. Root is bound by none.
func asOrdinaryUser(t *testing.T, dir string) (restore func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func() {}
	}
	const nobody = 65534
	require.NoError(t, filepath.Walk(filepath.Dir(dir), func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, nobody, nobody)
	}))
	runtime.LockOSThread()
	setfsuid := func(uid uintptr) { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0) }
	setfsuid(nobody)
	return func() {
		setfsuid(0)
		runtime.UnlockOSThread()
	}
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a/x.go": goHeader, "b/x.go": goHeader, "c/x.go": goHeader})
	require.NoError(t, os.Chmod(filepath.Join(dir, "b"), 0o555))
	restore := asOrdinaryUser(t, dir)
	defer restore()
	files := map[string]string{"a/x.go": goHeader + "new", "b/x.go": goHeader + "new", "c/x.go": goHeader + "new"}
	written, _, err := plan(t, wanted(dir, files)).Apply(t.Context())
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorContains(t, err, "cannot write "+filepath.Join(dir, "b", "x.go"))
	assert.Equal(t, []string{"a/x.go"}, relativeTo(dir, written))
	assert.Equal(t, map[string]string{"a/x.go": goHeader + "new", "b/x.go": goHeader, "c/x.go": goHeader}, read(t, dir))
}
