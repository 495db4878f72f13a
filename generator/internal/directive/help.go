package directive

import (
	"fmt"
	"io"
	"strings"
)

// Help writes the text of `idemgen help directives`.
func Help(w io.Writer) error {
	var b strings.Builder
	b.WriteString("A directive is a comment on a line of its own, written exactly //idem:verb name=value …, with no space before\n" +
		"idem: and none around the =. Values with spaces are quoted: schema=\"a b.sql\".\n")
	for _, v := range verbs {
		b.WriteString("\n" + usage(v))
		wrap(&b, "  ", v.doc)
		b.WriteString("\n")
		for _, a := range v.args {
			fmt.Fprintf(&b, "  %s=%s%s\n", a.name, a.syntax, requiredMark(a))
			wrap(&b, "      ", a.doc)
		}
		fmt.Fprintf(&b, "\n  Example: %s\n", v.example)
	}
	b.WriteString("\nStruct tags, on the fields of a payload:\n")
	for _, r := range roles {
		fmt.Fprintf(&b, "\n  idem:%q\n", r.name)
		wrap(&b, "      ", r.doc)
	}
	b.WriteString("\nOptions follow the role, as in idem:\"key,utc\":\n")
	for _, o := range tagOptions {
		fmt.Fprintf(&b, "\n  %s (%s)\n", o.name, strings.Join(rolesWith(o.name), ", "))
		wrap(&b, "      ", o.doc)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown writes docs/directives.md.
func Markdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Directives and tags

A directive is a comment on a line of its own, written exactly ` + "`//idem:verb name=value …`" + `, with no space before
` + "`idem:`" + ` and none around the ` + "`=`" + `. Values with spaces are quoted: ` + "`schema=\"a b.sql\"`" + `. Godoc does not show directives.

Every comment that begins with ` + "`idem:`" + ` and a letter is taken for a directive, in any case and with white space before it,
and is an error unless it is right in every detail: an annotation never fails silently.
`)
	for _, v := range verbs {
		fmt.Fprintf(&b, "\n## `//idem:%s`\n\n%s\n\n```go\n%s\n```\n", v.name, v.doc, v.example)
		if v.syntax != "" {
			fmt.Fprintf(&b, "\nIts form is `//idem:%s %s`, with the arguments behind that. A state that is no plain word is quoted: `\"in transit\"`.\n", v.name, v.syntax)
		}
		if len(v.args) > 0 {
			b.WriteString("\n| argument | value | meaning |\n|---|---|---|\n")
		}
		for _, a := range v.args {
			fmt.Fprintf(&b, "| `%s=`%s | `%s` | %s |\n", a.name, requiredMark(a), cell(a.syntax), cell(a.doc))
		}
	}
	b.WriteString("\n## Struct tags\n\n| tag | meaning |\n|---|---|\n")
	for _, r := range roles {
		fmt.Fprintf(&b, "| `idem:%q` | %s |\n", r.name, cell(r.doc))
	}
	b.WriteString("\nOptions follow the role, as in `idem:\"key,utc\"`:\n\n| option | with | meaning |\n|---|---|---|\n")
	for _, o := range tagOptions {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", o.name, strings.Join(rolesWith(o.name), ", "), cell(o.doc))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// usage shows a verb with its arguments, on as many lines as it takes.
func usage(v verb) string {
	line := strings.TrimRight("//idem:"+v.name+" "+v.syntax, " ")
	var b strings.Builder
	for _, a := range v.args {
		word := a.name + "=" + a.syntax
		if !a.required {
			word = "[" + word + "]"
		}
		if len([]rune(line))+1+len([]rune(word)) > 110 {
			b.WriteString(line + "\n")
			line = strings.Repeat(" ", len("//idem:"+v.name))
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

func requiredMark(a argument) string {
	if a.required {
		return " (required)"
	}
	return ""
}

// rolesWith returns the roles that take a tag option.
func rolesWith(option string) []string {
	var out []string
	for _, r := range roles {
		for _, o := range r.options {
			if o == option {
				out = append(out, r.name)
			}
		}
	}
	return out
}

// cell escapes what would end a cell of a Markdown table.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// wrap writes text in lines of at most 100 characters, each with the indent.
func wrap(b *strings.Builder, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > 100 && line != indent {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
}
