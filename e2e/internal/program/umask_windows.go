package program

// plainUmask has nothing to do.
func plainUmask() {}
