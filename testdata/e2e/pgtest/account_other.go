//go:build !unix

package pgtest

import "os/exec"

// account is who the server runs as: here always the process's own account.
type account struct{}

func unprivileged() (account, error) { return account{}, nil }

func (account) own(string) error { return nil }

func (account) become(*exec.Cmd) {}
