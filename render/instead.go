package render

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/krmcat/krmcat/pipeline"
)

// bindInstead finds the function of a trusted catalog that runs in place of the runtime that a
// config names: one that replaces its image, or one for a type that krmcat otherwise runs itself.
// If none does, found is false, and the bound has warnings about catalogs that were not read.
func (a *approval) bindInstead(ctx context.Context, s pipeline.Step) (b bound, found bool, err error) {
	other, ok := s.Instead()
	if !ok || a.options.NoReplace && other.Query().Image != "" {
		return bound{}, false, nil
	}
	b, fn, err := a.locate(ctx, a.options, other, a.catalogs)
	var unresolved *UnresolvedError
	if errors.As(err, &unresolved) && (len(unresolved.Untrusted) == 0 || !a.options.Policy.RequireDigests) {
		b = bound{}
		if len(unresolved.Untrusted) > 0 {
			b.warn(fmt.Sprintf("%s runs as its own config says, and a declared catalog that is not trusted might have had it: %s",
				wanted(other), strings.Join(declared(unresolved.Untrusted), ", ")))
		}
		return b, false, nil
	}
	if err == nil {
		err = a.choose(&b, fn)
	}
	if err != nil {
		return b, true, err
	}
	b.prepared.Needs.DeferFailure = b.prepared.Needs.DeferFailure || s.Inline.DeferFailure
	if b.replaced = other.Query().Image; b.replaced != "" {
		a.event(Event{Phase: PhaseBind, Text: fmt.Sprintf("the image %s is replaced by %s of %s", b.replaced, fn.Called(), b.by), Where: s.Where})
	}
	return b, true, nil
}
