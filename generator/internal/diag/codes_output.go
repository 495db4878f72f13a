package diag

// outputMeanings are the codes of package output.
var outputMeanings = []Meaning{
	{"IDEM501", "a file that idemgen did not write has the name of one that it has to write"},
	{"IDEM502", "a folder, or something else that is no file, has the name of a file that idemgen has to write"},
	{"IDEM503", "a file stands where a folder has to be"},
	{"IDEM504", "a generated file is a symbolic link that leads nowhere"},
}
