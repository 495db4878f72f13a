package pgtest

import (
	"os/exec"
	"runtime"
	"syscall"
)

// startTied starts a process that ends with this one, even if this one is killed or dies in a panic. The channel gets
// its end.
func startTied(cmd *exec.Cmd) (<-chan error, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGINT
	started := make(chan error, 1)
	ended := make(chan error, 1)
	go func() {
		// The signal comes when the thread that started the process ends, so this one has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
			close(ended)
		}
	}()
	return ended, <-started
}
