package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLongFlags(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ in, want []string }{
		{nil, []string{}},
		{[]string{"-tags", "a", "./..."}, []string{"--tags", "a", "./..."}},
		{[]string{"-tags=a,b"}, []string{"--tags=a,b"}},
		{[]string{"--tags=a", "--json"}, []string{"--tags=a", "--json"}},
		{[]string{"-C", "dir", "-C=dir", "-h"}, []string{"-C", "dir", "-C=dir", "-h"}},
		{[]string{"-json", "--", "-json"}, []string{"--json", "--", "-json"}},
		{[]string{"-", "-=x", ""}, []string{"-", "-=x", ""}},
	} {
		assert.Equal(t, test.want, longFlags(test.in), "%q", test.in)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"check", "generate", "list", "version", "C", "tags"}
	for given, want := range map[string]string{
		"chekc": "check", "Check": "check", "generat": "generate", "genrate": "generate", "lst": "list", "tag": "tags",
		"c": "C", "orders": "", "": "",
	} {
		assert.Equal(t, want, nearest(given, names), "%q", given)
	}
}
