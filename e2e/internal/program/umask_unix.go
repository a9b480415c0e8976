//go:build !windows

package program

import "syscall"

// plainUmask makes the files that tests write writable by this user only. krmcat refuses a config
// that others can write to, and on many machines the group of a user may write by default.
func plainUmask() { syscall.Umask(0o022) }
