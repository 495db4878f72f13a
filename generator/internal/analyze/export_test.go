package analyze

// What the tests in package analyze_test compare with the real thing.
var (
	TxMethods   = txMethods
	Shape       = shape
	ReadStore   = readStore
	Quoted      = quoted
	Nullables   = nullables
	IndexSuffix = indexSuffix
)
