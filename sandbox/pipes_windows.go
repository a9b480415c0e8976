package sandbox

import "os"

// idle cannot be told of a pipe here: who has not closed it is taken for one who holds it.
func idle(*os.File) bool { return true }
