package sandbox

import "fmt"

// UserError says that an image does not know whom --user names.
type UserError struct {
	Name string
	File string // of the image
}

func (e *UserError) Error() string {
	return fmt.Sprintf("the image's %s has no %q: give the number", e.File, e.Name)
}

// OtherUserError says that a function cannot be whom --user names on this machine.
type OtherUserError struct {
	User string
	Is   string // who it would be
	Why  string
}

func (e *OtherUserError) Error() string {
	return fmt.Sprintf("a function cannot be user %s: it would be %s, since %s", e.User, e.Is, e.Why)
}

// KnownIn looks whether a function can be whom the user said in the image whose root file
// system is at root. The error is a *UserError, an *OtherUserError, or what is wrong with
// the image's files.
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
	return &OtherUserError{User: g.g.allow.User, Is: fmt.Sprintf("%d:%d", isUID, isGID), Why: why}
}
