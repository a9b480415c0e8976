package sandbox

// currentUser returns "": container engines on Windows run Linux in a virtual machine, in which
// the user has no number.
func currentUser() string { return "" }
