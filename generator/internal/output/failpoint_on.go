//go:build failpoint

package output

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// passed counts how often the failpoint in question was passed. Files are written one after the other.
var passed int

// failpoint kills the process if the environment says so. Nothing is cleaned up: that is the point.
func failpoint(name string) {
	want, number, _ := strings.Cut(os.Getenv("IDEMGEN_FAILPOINT"), ":")
	if want != name {
		return
	}
	at := 1
	if number != "" {
		var err error
		if at, err = strconv.Atoi(number); err != nil {
			panic(fmt.Sprintf("IDEMGEN_FAILPOINT: %v", err))
		}
	}
	if passed++; passed != at {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {}
}
