package main

// alive is not asked for where no script runs.
func alive(int) bool { return false }

// plainUmask has nothing to do.
func plainUmask() {}
