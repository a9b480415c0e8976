package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// UserError says that an image does not know whom --user names.
type UserError struct {
	Name string
	File string // of the image
}

func (e *UserError) Error() string {
	return fmt.Sprintf("the image's %s has no %q: give the number", e.File, e.Name)
}

// OtherUserError says that a way of confining cannot have a function be whom --user names.
type OtherUserError struct {
	Way  Way
	User string
	Is   string // who it would be

	Never   string // why no way can, "" where some can
	Can     []Way  // the ways that can, where they work
	Untried []Way  // those of them that may work here
}

func (e *OtherUserError) Error() string {
	if e.Never != "" {
		return fmt.Sprintf("a function cannot be user %s: it would be %s, since %s", e.User, e.Is, e.Never)
	}
	var can []string
	for _, w := range e.Can {
		can = append(can, string(w))
	}
	return fmt.Sprintf("a function cannot be user %s in %s, where it is %s unless you are root: it can in %s", e.User, e.Way, e.Is, strings.Join(can, " and "))
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
	isUID, isGID, never := givenUser(h.way, uid, gid)
	if h.found == nil || isUID == uid && isGID == gid {
		return nil
	}
	e := &OtherUserError{Way: h.way, User: g.g.allow.User, Is: fmt.Sprintf("%d:%d", isUID, isGID), Never: never}
	if never == "" {
		e.Can = []Way{Native, Bubblewrap}
		e.Untried = slices.DeleteFunc(slices.Clone(e.Can), func(w Way) bool {
			return slices.ContainsFunc(h.missing, func(m Missing) bool { return m.Way == w })
		})
	}
	return e
}
