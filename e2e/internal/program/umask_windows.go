package program

// plainUmask does nothing: Windows has no umask.
func plainUmask() {}
