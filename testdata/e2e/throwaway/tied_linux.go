package throwaway

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// startTied starts a process that is stopped when this one ends, even if this one is killed or dies in a panic. The channel is closed
// at its end.
func startTied(cmd *exec.Cmd, stop os.Signal) (<-chan struct{}, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig, _ = stop.(syscall.Signal)
	started := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		// The signal comes when the thread that started the process ends, so this one has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in its ProcessState
			close(ended)
		}
	}()
	return ended, <-started
}
