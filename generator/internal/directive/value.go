package directive

import (
	"errors"
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// check checks an argument's value by its form, and reports whether it will do.
func (p *argParser) check(arg *argument, a Arg, v rawValue) bool {
	code, at, err := codeValue, 0, error(nil)
	switch arg.form {
	case oneOf:
		return p.checkWord(arg, a)
	case window:
		code = codeWindow
		_, _, err = ParseWindow(a.Value)
	case lease:
		code = codeWindow
		_, err = ParseLease(a.Value)
	case label:
		at, err = checkLabel(a.Value)
	case keys:
		at, err = checkList(a.Value, checkPath)
	case columnPaths:
		at, err = checkList(a.Value, checkColumnPath)
	case columnPath:
		at, err = checkColumnPath(a.Value)
	case column:
		at, err = checkColumn(a.Value)
	case files:
		at, err = checkList(a.Value, func(string) (int, error) { return 0, nil })
	}
	if err == nil {
		return true
	}
	if v.escaped {
		at = 0
	}
	reportValue(p.diags, moved(a.ValuePos, at), code, err)
	return false
}

func reportValue(diags *diag.List, pos token.Position, code diag.Code, err error) {
	message, hint := err.Error(), ""
	if fault := (*valueError)(nil); errors.As(err, &fault) {
		message, hint = fault.message, fault.hint
	}
	diags.Add(pos, code, hint, "%s", message)
}

func (p *argParser) checkWord(arg *argument, a Arg) bool {
	switch {
	case slices.Contains(arg.words, a.Value):
		return true
	case arg.others[strings.ToLower(a.Value)] != "":
		p.diags.Add(a.ValuePos, codeWord, "write "+arg.name+"="+arg.others[strings.ToLower(a.Value)], "unknown %s %q", arg.name, a.Value)
	default:
		p.diags.Add(a.ValuePos, codeWord, didYouMean(a.Value, arg.words), "unknown %s %q", arg.name, a.Value)
	}
	return false
}

// maxLabel is the longest handler name: it is half of a row's key, of which MySQL's column takes 255 bytes with a key version.
const maxLabel = 200

// checkLabel checks a handler's name. It is stored, read by operators, and part of metrics; "@" separates a key
// version.
func checkLabel(s string) (int, error) {
	for i, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-/", r) {
			return i, &valueError{fmt.Sprintf("name %q contains %q", s, r), "a name consists of ASCII letters, digits and . _ - /"}
		}
	}
	if len(s) > maxLabel {
		return maxLabel, &valueError{fmt.Sprintf("name has %d bytes", len(s)), fmt.Sprintf("a name has at most %d", maxLabel)}
	}
	return 0, nil
}

// checkList checks the elements of a comma-separated list, and returns the offset of the fault.
func checkList(s string, element func(string) (int, error)) (int, error) {
	offset := 0
	for e := range strings.SplitSeq(s, ",") {
		if strings.TrimSpace(e) == "" {
			return offset, &valueError{"the list has an empty element", "remove the comma that is too many"}
		}
		if strings.TrimSpace(e) != e {
			return offset, &valueError{fmt.Sprintf("there are spaces around %q", strings.TrimSpace(e)), "a list has no spaces between its elements"}
		}
		if at, err := element(e); err != nil {
			return offset + at, err
		}
		offset += len(e) + 1
	}
	return 0, nil
}

const pathHint = "write a field, a parameter or a getter: OrderID, Args.OrderID, GetOrderId(), projectID"

// checkPath checks the form of one path of key=: identifiers joined by dots, each with or without "()".
func checkPath(s string) (int, error) {
	offset := 0
	for segment := range strings.SplitSeq(s, ".") {
		name, _ := strings.CutSuffix(segment, "()")
		switch {
		case name == "":
			return offset, &valueError{fmt.Sprintf("there is no name in %q at a dot", s), pathHint}
		case strings.ContainsAny(name, "()"):
			return offset, &valueError{fmt.Sprintf("%q is not a getter without arguments", segment), pathHint}
		case !token.IsIdentifier(name):
			return offset, &valueError{fmt.Sprintf("%q is not the name of a field, parameter or getter", name), pathHint}
		}
		offset += len(segment) + 1
	}
	return 0, nil
}
