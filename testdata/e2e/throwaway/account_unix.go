//go:build unix

package throwaway

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// Account is who servers run as. Most of them refuse to run as root.
type Account struct{ credential *syscall.Credential }

// Unprivileged is the process's own account, or for root the first of the named ones that there is, or nobody.
func Unprivileged(names ...string) (Account, error) {
	if os.Geteuid() != 0 {
		return Account{}, nil
	}
	for _, name := range append(names, "nobody") {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return Account{}, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return Account{}, fmt.Errorf("user %s: %w", name, err)
		}
		return Account{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return Account{}, fmt.Errorf("servers do not run as root, and there is no user nobody")
}

func (a Account) own(dir string) error {
	if a.credential == nil {
		return nil
	}
	return os.Chown(dir, int(a.credential.Uid), int(a.credential.Gid))
}

func (a Account) become(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = a.credential
	// A group of its own: an interrupt typed at the tests is not one for the server, which they stop themselves.
	cmd.SysProcAttr.Setpgid = true
}
