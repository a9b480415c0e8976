// Package ownfile answers: is this a plain file, and who could have written it?
//
// It follows a path from the root of the file system, directory by directory and link by
// link, and says where somebody else than the user could have put something else in its
// way: by owner and mode, as ssh does. What it opens never makes anybody wait, as a pipe
// would, and is the very file that was looked at.
//
// What stands in a file never goes in, nor what follows for the user.
package ownfile
