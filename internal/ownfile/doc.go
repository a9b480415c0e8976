// Package ownfile answers: is this a regular file, and who could have written it?
//
// It follows a path from the root of the file system, directory by directory and link by link, and
// reports where another user could have replaced something on it: by owner and mode, as ssh does.
// Opening a file never blocks, as a pipe would, and the open file is the one that was checked.
//
// The package never interprets the content of files, and does not decide what its findings mean for
// the user.
package ownfile
