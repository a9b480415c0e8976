package cli

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/internal/cachedir"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify/cosign"
)

// TestRefusalCodes checks the exit codes of refusals, with any cause. See refusals.txtar.
func TestRefusalCodes(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		codeUntrusted: {
			&cachedir.ForeignError{},
			&registry.DigestError{}, &registry.TooLargeError{}, &registry.TooManyError{},
			&registry.ManifestError{Err: fs.ErrNotExist}, &registry.RoleError{}, &registry.TitleError{}, &sandbox.ExchangedError{}, failure.Untrusted.Mark(fs.ErrNotExist), &configDirError{err: fs.ErrNotExist},
		},
		codeDenied: {&pipeline.RestrictedError{}, failure.NotPermitted.Mark(fs.ErrNotExist), &ownfile.InTheWayError{}},
		codeUsage:  {&cosign.KeyTypeError{Type: "PUBLIC KEY"}, &placeError{}},
		codeNotFound: {
			&ownfile.KindError{},
			&fnexec.ProgramError{}, &registry.NotFoundError{}, &container.NoEngineError{}, &sandbox.UserError{},
			&sandbox.EngineError{Err: syscall.ENOENT}, &sandbox.EngineError{Err: syscall.ENOEXEC},
		},
		codeUnreachable: {&registry.UnreachableError{}},
	} {
		for _, err := range errs {
			for _, err := range []error{err, fmt.Errorf("around: %w", err)} {
				if got := exitCode(failure.Of(err)); got != want {
					t.Errorf("%T %+v: got %d, want %d", err, err, got, want)
				}
			}
		}
	}
}
