package diag

// storeMeanings are the codes of the store's resolution (analyze) and of packages sqlcode and sqlcrun.
var storeMeanings = []Meaning{
	{"IDEM400", "the handlers of a package use more than one driver"},
	{"IDEM401", "nothing says which database engine a package uses"},
	{"IDEM402", "`engine=` contradicts sqlc's configuration"},
	{"IDEM403", "the engine is not supported yet"},
	{"IDEM404", "a handler's transaction is of a driver that the engine does not have"},
	{"IDEM405", "sqlc's configuration cannot be read"},
	{"IDEM406", "the store's folder is outside the module, or cannot be imported"},
	{"IDEM407", "a file is where the store's folder should be"},
	{"IDEM408", "the store's folder has Go files that neither idemgen nor sqlc has made"},
	{"IDEM409", "packages that share a store disagree about it"},
	{"IDEM410", "the table's name will not do"},
	{"IDEM411", "a path of `schema=` does not exist"},
	{"IDEM412", "a store that is there would become one for another engine"},
	{"IDEM413", "nothing says which driver a package without transactions uses"},
	{"IDEM414", "`driver=` is on a package whose handlers' transactions say which"},
	{"IDEM450", "sqlc does not accept the SQL of a store"},
	{"IDEM451", "sqlc failed and named no file"},
	{"IDEM452", "sqlc does not accept the user's schema, which transitions are compiled against"},
}
