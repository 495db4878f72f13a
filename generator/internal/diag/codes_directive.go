package diag

// directiveMeanings are the codes of package directive.
var directiveMeanings = []Meaning{
	{"IDEM001", "there is no such directive"},
	{"IDEM002", "a directive is not written exactly as `//idem:verb`: a space, another case, a block comment"},
	{"IDEM003", "a directive stands where it can mean nothing"},
	{"IDEM004", "the directive has no such argument"},
	{"IDEM005", "a directive is repeated"},
	{"IDEM006", "an argument is not written as `name=value`"},
	{"IDEM007", "an argument is given twice"},
	{"IDEM008", "an argument that must be given is missing"},
	{"IDEM009", "an argument has no value"},
	{"IDEM010", "a quoted value is not a Go string, or does not end"},
	{"IDEM011", "a comment follows the arguments on the same line"},
	{"IDEM012", "a value is none of the words that are allowed"},
	{"IDEM013", "a window is not a duration of at least one minute, nor `forever`; or a lease is not one of at least a second"},
	{"IDEM014", "a value does not have the form that its argument asks for"},
	{"IDEM015", "the feature is planned, but not supported yet"},
	{"IDEM020", "an `idem` tag names no known role: key, fingerprint, attempt"},
	{"IDEM021", "an `idem` tag has an unknown option, or one that its role does not take"},
	{"IDEM022", "a struct tag with `idem` in it is malformed, so that Go would not find it"},
	{"IDEM023", "an `idem` tag contradicts or repeats itself"},
}
