//go:build !unix

package throwaway

import "os/exec"

// Account is who servers run as: here always the process's own account.
type Account struct{}

// Unprivileged is an account that can do little.
func Unprivileged(...string) (Account, error) { return Account{}, nil }

func (Account) own(string) error { return nil }

func (Account) become(*exec.Cmd) {}
