package load

import "github.com/idemgen/idemgen/generator/internal/diag"

// The codes of this package; package diag says what each means.
const (
	codeNoModule    diag.Code = "IDEM100"
	codeNoFolder    diag.Code = "IDEM101"
	codeNoPackage   diag.Code = "IDEM102"
	codeOutside     diag.Code = "IDEM103"
	codeNoDirective diag.Code = "IDEM104"
	codeSyntax      diag.Code = "IDEM105"
	codeForeign     diag.Code = "IDEM106"
	codeExcluded    diag.Code = "IDEM107"
	codeConstraints diag.Code = "IDEM108"
	codeGo          diag.Code = "IDEM109"
	codeSkew        diag.Code = "IDEM110"
	codeInTest      diag.Code = "IDEM111"
)
