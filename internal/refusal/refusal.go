package refusal

import "errors"

// The marks, for errors.Is.
var (
	// ErrContent says that what was read is refused as it is: it is larger, deeper or longer
	// than is read, was changed by somebody, or says what nobody has to believe.
	ErrContent = errors.New("its content is refused")
	// ErrReach says that something leads, or would be sent, to where it may not.
	ErrReach = errors.New("its reach is refused")
)

// Content marks an error with ErrContent. Its words stay; nil stays nil.
func Content(err error) error { return mark(err, ErrContent) }

// Reach marks an error with ErrReach. Its words stay; nil stays nil.
func Reach(err error) error { return mark(err, ErrReach) }

func mark(err, as error) error {
	if err == nil {
		return nil
	}
	return &marked{err, as}
}

// marked is an error with a mark.
type marked struct{ err, as error }

func (m *marked) Error() string { return m.err.Error() }

// Is tells errors.Is of the mark.
func (m *marked) Is(other error) bool { return other == m.as }

// Unwrap returns the error that is marked.
func (m *marked) Unwrap() error { return m.err }
