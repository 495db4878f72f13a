//go:build idem_points

package point

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// variable is the environment variable that says where to stop: at a point, and after a colon, where it is not the first,
// at which passing of it ("claimed:3"). With the value listing the process prints the list instead, and ends: for tests that
// are not of this module, and so cannot import it.
const (
	variable = "IDEMGEN_POINT"
	listing  = "list"
)

var (
	where, number = wanted()
	passed        atomic.Int64
)

func init() {
	if where != listing {
		return
	}
	if err := json.NewEncoder(os.Stdout).Encode(List()); err != nil {
		panic(fmt.Sprintf("%s=%s: %v", variable, listing, err))
	}
	os.Exit(0)
}

func wanted() (where Point, number int64) {
	name, text, numbered := strings.Cut(os.Getenv(variable), ":")
	if !numbered {
		return Point(name), 1
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: %v", variable, err))
	}
	return Point(name), number
}

// At is where the engine is at a point. If the environment says so, it stays there: other goroutines go on, until the process
// is killed.
func At(p Point) {
	if p != where || passed.Add(1) != number {
		return
	}
	if _, err := os.Stdout.WriteString("at " + string(p) + "\n"); err != nil {
		panic(fmt.Sprintf("%s: %v", variable, err))
	}
	select {}
}
