package sandbox

// currentUser is nobody in particular: the engines of Windows run Linux elsewhere, where
// its users have no number.
func currentUser() string { return "" }
