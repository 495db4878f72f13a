//go:build !linux

package pgtest

import "os/exec"

// startTied starts a process. The channel gets its end.
func startTied(cmd *exec.Cmd) (<-chan error, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		close(ended)
	}()
	return ended, nil
}
