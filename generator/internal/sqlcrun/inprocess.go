package sqlcrun

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/sqlc-dev/sqlc/pkg/cli"
)

// errRefused says that sqlc had something to complain of. What, only a second run in a process of its own can tell.
var errRefused = errors.New("sqlc refused the SQL")

// std guards the process's os.Stdout and os.Stderr while they are replaced, and silence.
var std sync.Mutex

// silence is the null device while sqlc runs, and nil otherwise.
var silence *os.File

// inProcess calls sqlc's command with args.
//
// sqlc reports what it refuses by writing to the standard error that it was started with, and then exits the process.
// So it is started with a file whose first write panics: the panic takes the place of the exit, and is recovered here,
// on the same goroutine. Parsers below it write to os.Stderr by themselves, from other goroutines where nobody could
// recover a panic; for them the variable is changed to the null device as soon as the command has taken its copy.
func inProcess(args []string) (err error) {
	if !trapWorks() {
		return errRefused
	}
	std.Lock()
	defer std.Unlock()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	stdout, stderr := os.Stdout, os.Stderr
	defer func() {
		os.Stdout, os.Stderr, silence = stdout, stderr, nil
		err = errors.Join(err, null.Close())
	}()
	os.Stdout, os.Stderr, silence = null, trap(), null
	return callSQLC(args)
}

// callSQLC is a function of its own so that afterCapture can find it on the stack.
//
//go:noinline
func callSQLC(args []string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", errRefused, r)
		}
	}()
	if code := cli.Run(args); code != 0 {
		return fmt.Errorf("%w: exit code %d", errRefused, code)
	}
	return nil
}

// trap returns a file whose methods panic: no system file is behind it.
func trap() *os.File { return new(os.File) }

// trapWorks makes sure that this build's os package behaves as inProcess needs it. Where it does not, sqlc must not
// run in this process at all.
var trapWorks = sync.OnceValue(func() (works bool) {
	defer func() { works = recover() != nil }()
	_, _ = trap().Write([]byte{0})
	return false
})

// cobra runs this before every command of the process: sqlc's, after it has taken its copy of os.Stderr and before it
// does anything else, but also our own, which may be running at the same time in tests.
func init() { cobra.OnInitialize(afterCapture) }

func afterCapture() {
	if calledBySQLC() {
		os.Stderr = silence
	}
}

// calledBySQLC says whether this goroutine is in callSQLC, and so holds std.
func calledBySQLC() bool {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		frame, more := frames.Next()
		if strings.HasSuffix(frame.Function, "/sqlcrun.callSQLC") {
			return true
		}
		if !more {
			return false
		}
	}
}
