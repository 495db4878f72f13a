package directive

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/idemgen/idemgen/generator/internal/diag"
)

// readTag parses the tag of a field that begins in column 5.
func readTag(t *testing.T, lit string) (string, []string) {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "a.go", "package p\ntype T struct {\nF X "+lit+"\n}\n", 0)
	require.NoError(t, err)
	field := f.Decls[0].(*ast.GenDecl).Specs[0].(*ast.TypeSpec).Type.(*ast.StructType).Fields.List[0]
	var diags diag.List
	tag, ok := ParseTag(field.Tag, fset, &diags)
	var shown string
	if ok {
		shown = fmt.Sprintf("%s@%d %v %v %v", tag.Role, tag.Pos.Column, tag.AllowZero, tag.UTC, tag.Force)
	}
	var faults []string
	for _, d := range diags.Sorted() {
		require.Equal(t, 3, d.Pos.Line)
		faults = append(faults, fmt.Sprintf("%d %s %s | %s", d.Pos.Column, d.Code, d.Message, d.Hint))
	}
	return shown, faults
}

func TestParseTag(t *testing.T) {
	t.Parallel()
	for lit, want := range map[string]string{
		"":                           "",
		"``":                         "",
		"`json:\"a\"`":               "",
		"`json:\"idem\"`":            "",
		"`json:foo bar`":             "",
		"`no convention at all`":     "",
		"`item:\"key\"`":             "",
		"`id:\"key\"`":               "",
		"`iter:\"key\"`":             "",
		"`idempotent:\"yes\"`":       "",
		"`idme:\"key,omitempty\"`":   "",
		"`my-idem:\"key\"`":          "",
		"`doc:\"see idem:key\"`":     "",
		"`idem:\"key\"`":             "key@12 false false false",
		"`idem:\"fingerprint\"`":     "fingerprint@12 false false false",
		"`idem:\"fingerprint,utc\"`": "fingerprint@12 false true false",
		"`idem:\"attempt\"`":         "attempt@12 false false false",
		"`json:\"order_id,omitempty\"  idem:\"key,allowzero,utc,force\"`": "key@39 true true true",
		"`idem:\"key\" json:foo`":         "key@12 false false false",
		"`json:\"a\"idem:\"key\"`":        "key@20 false false false",
		`"idem:\"key\""`:                  "key@5 false false false",
		`"json:\"a\" idem:\"key,force\""`: "key@5 false false true",
	} {
		got, faults := readTag(t, lit)
		assert.Equal(t, want, got, lit)
		assert.Empty(t, faults, lit)
	}
}

func TestParseTagFaults(t *testing.T) {
	t.Parallel()
	const malformed = " IDEM022 the struct tag is malformed before or at idem, and Go would not find it | " + tagHint
	for lit, want := range map[string]string{
		"`idem:\"kye\"`":                   `12 IDEM020 unknown role "kye" in the idem tag | did you mean key?`,
		"`idem:\"Key\"`":                   `12 IDEM020 unknown role "Key" in the idem tag | did you mean key?`,
		"`idem:\"id\"`":                    `12 IDEM020 unknown role "id" in the idem tag | there are: key, fingerprint, attempt`,
		"`idem:\"\"`":                      "12 IDEM020 the idem tag names no role | write one of key, fingerprint, attempt",
		"`idem:\"-\"`":                     "12 IDEM020 the idem tag names no role | leave the tag out: fields without one take no part",
		"`idem:\",utc\"`":                  "12 IDEM020 the idem tag names no role | write one of key, fingerprint, attempt",
		"`idem:\"utc\"`":                   "12 IDEM020 option utc stands in the role's place | write `idem:\"key,utc\"`",
		"`idem:\"key,allowzeros\"`":        `16 IDEM021 unknown option "allowzeros" in the idem tag | did you mean allowzero?`,
		"`idem:\"key,nope\"`":              `16 IDEM021 unknown option "nope" in the idem tag | there are: allowzero, utc, force`,
		"`idem:\"key,\"`":                  `16 IDEM021 there is an empty option in the idem tag | remove the comma that is too many`,
		"`idem:\"key, utc\"`":              `16 IDEM021 unknown option " utc" in the idem tag | remove the space: utc`,
		"`idem:\"fingerprint,allowzero\"`": `24 IDEM021 fingerprint does not take the option allowzero | remove it: a fingerprint may be zero anyway`,
		"`idem:\"fingerprint,force\"`":     `24 IDEM021 fingerprint does not take the option force | there are: utc`,
		"`idem:\"attempt,utc\"`":           `20 IDEM021 attempt does not take the option utc | remove it: attempt takes no options`,
		"`idem:\"key,attempt\"`":           `16 IDEM023 a field cannot be both key and attempt | a redelivery has another attempt number: take it for metrics or leave it, but not for the key`,
		"`idem:\"attempt,key\"`":           `20 IDEM023 a field cannot be both attempt and key | a redelivery has another attempt number: take it for metrics or leave it, but not for the key`,
		"`idem:\"key,fingerprint\"`":       `16 IDEM023 a field cannot be both key and fingerprint | a part of the key is the same in every repeat anyway: leave fingerprint out`,
		"`idem:\"key,key\"`":               `16 IDEM023 role key is given twice | remove one of the two`,
		"`idem:\"key,utc,utc\"`":           `20 IDEM023 option utc is given twice | remove one of the two`,
		"`idem:\"key\" idem:\"attempt\"`":  `17 IDEM023 the field has two idem tags | a field has one role; remove one of the two`,
		"`idem:key`":                       "6" + malformed,
		"`idem :\"key\"`":                  "6" + malformed,
		"`idem: \"key\"`":                  "6" + malformed,
		"`idem:'key'`":                     "6" + malformed,
		"`idem=\"key\"`":                   "6" + malformed,
		"`idem:\"key`":                     "6" + malformed,
		"`json:a idem:\"key\"`":            "13" + malformed,
		"`json:\"a\",idem:\"key\"`":        "14 IDEM022 tag ,idem does not begin with exactly idem | " + tagHint,
		"`Idem:\"key\"`":                   "6 IDEM022 tag Idem does not begin with exactly idem | " + tagHint,
		"`json:\"a\"\tidem:\"key\"`":       "15" + malformed,
		"`idme:\"key\"`":                   `6 IDEM022 the tag is called idme, and not idem | did you mean idem:"key"?`,
		"`json:\"a\" iden:\"key,utc\"`":    `15 IDEM022 the tag is called iden, and not idem | did you mean idem:"key,utc"?`,
		"`idemp:\"fingerprint\"`":          `6 IDEM022 the tag is called idemp, and not idem | did you mean idem:"fingerprint"?`,
		"`idepm:\"key\"`":                  `6 IDEM022 the tag is called idepm, and not idem | did you mean idem:"key"?`,
		"`idempotent:\"key\"`":             `6 IDEM022 the tag is called idempotent, and not idem | did you mean idem:"key"?`,
		"`IdemGen:\"attempt\"`":            `6 IDEM022 the tag is called IdemGen, and not idem | did you mean idem:"attempt"?`,
		"`xidem:\"key\"`":                  `6 IDEM022 the tag is called xidem, and not idem | did you mean idem:"key"?`,
		"`idme: \"key\"`":                  `6 IDEM022 the tag is called idme, and not idem; and the struct tag is malformed before or at it | did you mean idem:"key"?`,
		"`json:\"a\",idme=key`":            `15 IDEM022 the tag is called idme, and not idem; and the struct tag is malformed before or at it | did you mean idem:"key"?`,
		`"idem:\"kye\""`:                   `5 IDEM020 unknown role "kye" in the idem tag | did you mean key?`,
	} {
		got, faults := readTag(t, lit)
		assert.Empty(t, got, lit)
		assert.Equal(t, []string{want}, faults, lit)
	}
}

func TestParseTagValue(t *testing.T) {
	t.Parallel()
	var diags diag.List
	pos := token.Position{Filename: "b.go", Line: 7, Column: 9}
	tag, ok := ParseTagValue(`json:"a" idem:"key,utc"`, pos, &diags)
	assert.True(t, ok)
	assert.Equal(t, Tag{Role: Key, UTC: true, Pos: pos}, tag)
	_, ok = ParseTagValue(`idem:"key,x"`, pos, &diags)
	assert.False(t, ok)
	require.Equal(t, 1, diags.Len())
	assert.Equal(t, pos, diags.Sorted()[0].Pos)
	_, ok = ParseTag(nil, token.NewFileSet(), &diags)
	assert.False(t, ok)
}

// Whatever Go's own reader finds in a tag, we find; and a tag that mentions us is never passed over in silence.
func FuzzParseTagValue(f *testing.F) {
	for _, s := range []string{`json:"a" idem:"key"`, `idem:key`, `idem :"key"`, `idem:"key,utc" idem:"x"`, `idem:"\x6bey"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		var diags diag.List
		_, ok := ParseTagValue(tag, token.Position{}, &diags)
		if ok && diags.Len() > 0 {
			t.Errorf("%q: parsed and diagnosed: %v", tag, diags.Sorted())
		}
		if _, there := lookup(tag); there && !ok && diags.Len() == 0 {
			t.Errorf("%q: silently dropped", tag)
		}
	})
}
