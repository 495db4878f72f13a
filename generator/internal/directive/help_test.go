package directive

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func lookup(tag string) (string, bool) { return reflect.StructTag(tag).Lookup("idem") }

// Everything registered is in the help and in the documentation, and nothing that is only planned.
func TestHelpAndMarkdown(t *testing.T) {
	t.Parallel()
	var help, markdown strings.Builder
	require.NoError(t, Help(&help))
	require.NoError(t, Markdown(&markdown))
	for name, text := range map[string]string{"help": help.String(), "markdown": markdown.String()} {
		for _, v := range verbs {
			assert.Contains(t, text, "//idem:"+v.name, name)
			for _, a := range v.args {
				assert.Contains(t, text, a.name+"=", name)
			}
		}
		for _, r := range roles {
			assert.Contains(t, text, `idem:"`+r.name+`"`, name)
		}
		for _, o := range tagOptions {
			assert.Contains(t, text, o.name, name)
		}
		for _, p := range append([]string{"keyversion", "compat"}, planned.verbs...) {
			assert.NotContains(t, text, p, name)
		}
	}
	for line := range strings.Lines(help.String()) {
		assert.LessOrEqual(t, len([]rune(line)), 120, line)
		assert.Equal(t, strings.TrimRight(line, " \n")+"\n", line)
	}
}

// The table is consistent with itself.
func TestRegistry(t *testing.T) {
	t.Parallel()
	for _, v := range verbs {
		d, _ := parse(mustRecognise(t, v.example), tokenPos(), nopList())
		assert.NotNil(t, d, v.example)
		for _, a := range v.args {
			assert.NotEmpty(t, a.doc, a.name)
			assert.NotEmpty(t, a.syntax, a.name)
			assert.Equal(t, a.form == oneOf, len(a.words) > 0, a.name)
			assert.Equal(t, a.required, a.mend != "", a.name)
			assert.Equal(t, a.name, strings.ToLower(a.name))
		}
		for _, p := range planned.args[v.name] {
			assert.Nil(t, find(v.args, argName, p), p)
		}
	}
	for _, p := range planned.verbs {
		assert.Nil(t, find(verbs, verbName, p), p)
	}
	for _, r := range roles {
		for _, o := range r.options {
			assert.NotNil(t, find(tagOptions, optionName, o), o)
		}
	}
}
