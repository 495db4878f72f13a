package directive

import "github.com/idemgen/idemgen/generator/internal/diag"

// The codes of this package; package diag says what each means.
const (
	codeUnknownVerb diag.Code = "IDEM001"
	codeSpelling    diag.Code = "IDEM002"
	codeMisplaced   diag.Code = "IDEM003"
	codeUnknownArg  diag.Code = "IDEM004"
	codeRepeated    diag.Code = "IDEM005"
	codeArgForm     diag.Code = "IDEM006"
	codeArgTwice    diag.Code = "IDEM007"
	codeArgMissing  diag.Code = "IDEM008"
	codeArgEmpty    diag.Code = "IDEM009"
	codeQuote       diag.Code = "IDEM010"
	codeTrailing    diag.Code = "IDEM011"
	codeWord        diag.Code = "IDEM012"
	codeWindow      diag.Code = "IDEM013"
	codeValue       diag.Code = "IDEM014"
	codePlanned     diag.Code = "IDEM015"

	codeChange   diag.Code = "IDEM300"
	codeSelfLoop diag.Code = "IDEM301"

	codeTagRole     diag.Code = "IDEM020"
	codeTagOption   diag.Code = "IDEM021"
	codeTagForm     diag.Code = "IDEM022"
	codeTagConflict diag.Code = "IDEM023"
)
