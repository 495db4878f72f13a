//go:build unix

package main

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// serverUser is whom the server runs as where we are root, which PostgreSQL refuses to be: ok is false where we are
// not.
func serverUser() (uid, gid int, ok bool, err error) {
	if os.Getuid() != 0 {
		return 0, 0, false, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, lookupErr := user.Lookup(name)
		if lookupErr != nil {
			err = lookupErr
			continue
		}
		if uid, err = strconv.Atoi(u.Uid); err != nil {
			return 0, 0, false, err
		}
		gid, err = strconv.Atoi(u.Gid)
		return uid, gid, true, err
	}
	return 0, 0, false, fmt.Errorf("no user to drop to: %w", err)
}

// unprivileged puts a process in a group of its own, so that an interrupt from the terminal reaches only us, and makes
// it the server's user.
func unprivileged() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true}
	if uid, gid, ok, err := serverUser(); err == nil && ok {
		attr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return attr
}

// giveAway makes the server's user the owner of paths.
func giveAway(paths ...string) error {
	uid, gid, ok, err := serverUser()
	if err != nil || !ok {
		return err
	}
	for _, path := range paths {
		if err := os.Chown(path, uid, gid); err != nil {
			return err
		}
	}
	return nil
}
