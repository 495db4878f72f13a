//go:build !linux

package throwaway

import (
	"os"
	"os/exec"
)

// startTied starts a process. The channel is closed at its end.
func startTied(cmd *exec.Cmd, _ os.Signal) (<-chan struct{}, error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended is in its ProcessState
		close(ended)
	}()
	return ended, nil
}
