package idemtest

import (
	"strings"
	"testing"
)

// A cell that was not run is missed, and so is a suite that was not; a driver that was left out is not.
func TestMatrix(t *testing.T) {
	t.Parallel()
	var m Matrix
	var out strings.Builder
	if err := m.Write(&out); err != nil || out.Len() > 0 {
		t.Errorf("an empty matrix: %q, %v", out.String(), err)
	}
	if m.Incomplete() == nil {
		t.Error("no suite has run, and nobody says so")
	}

	m.Expect("one")
	m.LeaveOut("other", "there is no server")
	if err := m.Incomplete(); err == nil || !strings.Contains(err.Error(), "promise 22 on one: MISSING") || strings.Contains(err.Error(), "other") {
		t.Errorf("got %v", err)
	}
	for _, p := range promises {
		c := &cell{Driver: "one", Promise: p.number}
		switch p.number {
		case "7":
			c.ran()
			c.cannot(NeedAborts, "of a reason")
		case "16":
			c.cannot(NeedRoundTrips, "of another")
		case "L5": // filtered out
		default:
			c.ran()
		}
		m.add(c, p.number == "L4")
	}
	got := m.Incomplete()
	if got == nil || got.Error() != "promise L4 on one: FAILS\npromise L5 on one: MISSING" {
		t.Errorf("got %v", got)
	}
	if err := m.Write(&out); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"swallowed error is no success                     ok [1]      left out\n", "16 round trips                                        cannot [2]  left out\n",
		"[1] aborted transactions: of a reason\n[2] round trips: of another\nother is left out: there is no server\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// A need that a backend does not meet, and says nothing of, is found.
func TestPlaceLacks(t *testing.T) {
	t.Parallel()
	for _, need := range append([]Need{""}, needs...) {
		switch missing := (Place[int]{}).lacks(need); need {
		case NeedSurvives, NeedRowLocks, NeedZones: // what the engine is, not what the place has
		default:
			if missing == "" {
				t.Errorf("an empty place has all for %q", need)
			}
		}
	}
}

// Each promise has a scenario, and each scenario a promise.
func TestScenariosOfPromises(t *testing.T) {
	t.Parallel()
	of := map[string]int{}
	for _, s := range append(scenarios[int](), transitionScenarios[int]()...) {
		of[s.promise]++
	}
	for _, p := range promises {
		if of[p.number] == 0 {
			t.Errorf("promise %s has no scenario", p.number)
		}
		delete(of, p.number)
	}
	if len(of) > 0 {
		t.Errorf("scenarios of promises that are not there: %v", of)
	}
}
