package diag

// loadMeanings are the codes of package load.
var loadMeanings = []Meaning{
	{"IDEM100", "there is no Go module"},
	{"IDEM101", "a pattern names no folder that exists"},
	{"IDEM102", "a pattern matches no Go package"},
	{"IDEM103", "a pattern leads outside the module or the workspace"},
	{"IDEM104", "no directive was found"},
	{"IDEM105", "a file with directives or tags is not valid Go"},
	{"IDEM106", "an `idem_gen.go` that idemgen did not write is in the way"},
	{"IDEM107", "a build constraint leaves out a file with directives"},
	{"IDEM108", "the files with directives in one package have different build constraints"},
	{"IDEM109", "the go command cannot load a package"},
	{"IDEM110", "idemgen and the go command are of different Go releases, and one cannot read the other"},
	{"IDEM111", "a directive is in a test file"},
}
