package output

// The failpoints: places where a test kills the process, to see what it leaves behind. A build with the tag failpoint
// heeds the environment variable IDEMGEN_FAILPOINT, which holds one of these names and after a colon, where it is not
// the first, which passing of it is meant ("after-rename:3"). Other builds have no trace of them.
const (
	tempCreated   = "temp-created"   // the temporary file is there and empty
	halfWritten   = "half-written"   // half of its bytes are in it
	beforeRename  = "before-rename"  // it is whole
	afterRename   = "after-rename"   // it has its name
	beforeRemoval = "before-removal" // of an orphan
	afterRemoval  = "after-removal"
)
