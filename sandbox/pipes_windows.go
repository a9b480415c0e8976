package sandbox

import "os"

// idle returns true: Windows cannot tell, so an open pipe counts as held.
func idle(*os.File) bool { return true }
