package sandbox

import "fmt"

// UserError reports that an image does not have the user or group that --user names.
type UserError struct {
	Name string
	File string // of the image, where the name was looked up
}

// Error asks for the number of the user.
func (e *UserError) Error() string {
	return fmt.Sprintf("the image's %s has no %q: give the number", e.File, e.Name)
}

// OtherUserError reports that a function cannot run as the user that --user names on this
// machine.
type OtherUserError struct {
	User string // as --user names it
	Be   string // the user that it would run as, UID:GID
	Why  string
}

// Error names both users.
func (e *OtherUserError) Error() string {
	return fmt.Sprintf("a function cannot run as user %s: it would run as %s, since %s", e.User, e.Be, e.Why)
}

// KnownIn checks whether a function can run as the user of --user in an image. root is the
// directory of the image's file system. The error is a *UserError, an *OtherUserError, or one
// of reading the image's files.
func (g Grant) KnownIn(root string) error {
	if g.g == nil {
		return ErrNotGranted
	}
	uid, gid, err := g.imageUser(root)
	if err != nil || g.g.allow.User == "" || g.g.allow.AsCurrentUser || g.g.allow.On == nil {
		return err
	}
	h := g.g.allow.On
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	isUID, isGID, why := givenUser(uid, gid)
	if h.found == nil || isUID == uid && isGID == gid {
		return nil
	}
	return &OtherUserError{User: g.g.allow.User, Be: fmt.Sprintf("%d:%d", isUID, isGID), Why: why}
}
