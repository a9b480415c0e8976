package sandbox

// HaveLandlock is haveLandlock, for tests from outside.
func HaveLandlock() bool { return haveLandlock() }
