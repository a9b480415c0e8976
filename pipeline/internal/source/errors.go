package source

import (
	"io/fs"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
)

// SyntaxError is something wrong in a target's files.
type SyntaxError struct {
	Where string // file or file:line
	Msg   string
	Err   error // what is behind it, may be nil

	// Kind is what it means: that a file which is named is not there, that the content asks for too
	// much, that it leads to where nothing permits it to; "" for all else.
	Kind failure.Kind
	// Permit is the flag of `kustomize build` that permits what was refused, "" for none.
	Permit string
}

// Flag is Permit.
func (e *SyntaxError) Flag() string { return e.Permit }

func (e *SyntaxError) Error() string {
	s := e.Where + ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *SyntaxError) Unwrap() error { return e.Err }

// The flags that lift what is refused otherwise.
const (
	anywhereFlag = disk.AnywhereFlag
	HelmFlag     = "--enable-helm"
)

// Restricted refuses what the load restrictor keeps from being read.
func Restricted(where, what, dir string) error {
	return &SyntaxError{Where: where, Msg: what + " is not in or below " + dir + ", and the load restrictor keeps files there", Permit: anywhereFlag}
}

// StrayLink refuses a target file that leads out of its directory.
func StrayLink(file string) error {
	return &SyntaxError{Where: file, Msg: "it is a link that leads out of its directory, and the load restrictor keeps files there", Permit: anywhereFlag}
}

// Is tells errors.Is of its kind.
func (e *SyntaxError) Is(other error) bool {
	return e.Kind != "" && other == e.Kind || e.Kind == failure.NotFound && other == fs.ErrNotExist
}
