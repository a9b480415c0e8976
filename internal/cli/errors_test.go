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

// TestImageCodes: what is wrong with an image has one exit code, whatever runs it, and what is
// refused has one that says so, whatever is behind it: see refusals.txtar.
func TestImageCodes(t *testing.T) {
	t.Parallel()
	engine := func(k container.FailureKind) error { return &container.EngineError{Engine: "docker", Kind: k} }
	for want, errs := range map[int][]error{
		codeUntrusted: {
			&container.ImageError{Err: fs.ErrNotExist}, &container.ImageLimitError{}, &container.ChangedError{}, &cachedir.ForeignError{},
			&registry.DigestError{}, engine(container.Refused), &registry.TooLargeError{}, &registry.TooManyError{},
			&registry.ManifestError{Err: fs.ErrNotExist}, &registry.RoleError{}, &registry.TitleError{}, &sandbox.ExchangedError{}, failure.Untrusted.Mark(fs.ErrNotExist), &standingError{err: fs.ErrNotExist},
		},
		codeDenied: {&pipeline.RestrictedError{}, failure.NotPermitted.Mark(fs.ErrNotExist), &ownfile.InTheWayError{}},
		codeUsage:  {cosign.ErrPrivateKey, &cosign.KeyTypeError{Type: "PUBLIC KEY"}, &placeError{}},
		codeNotFound: {
			&ownfile.KindError{},
			&fnexec.ProgramError{}, &container.UnfitError{}, &container.NoCacheError{}, &container.NotHereError{}, &registry.NotFoundError{}, &container.NoEngineError{}, &sandbox.UserError{},
			engine(container.NoImage), engine(container.NoUser), engine(container.NoProgram),
			&sandbox.EngineError{Err: syscall.ENOENT}, &sandbox.EngineError{Err: syscall.ENOEXEC},
		},
		codeUnreachable: {&registry.UnreachableError{}, engine(container.Unreachable), engine("")},
	} {
		for _, err := range errs {
			for _, err := range []error{err, fmt.Errorf("around: %w", err)} {
				if got := rules()[single(err).rank].code; got != want {
					t.Errorf("%T %+v: got %d, want %d", err, err, got, want)
				}
			}
		}
	}
}
