package engine_test

import (
	"fmt"
	"testing"

	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/internal/failure"
)

// TestKinds: what an engine failed for has the kind that the same has without an engine.
func TestKinds(t *testing.T) {
	t.Parallel()
	for want, kinds := range map[failure.Kind][]engine.FailureKind{
		failure.Untrusted:   {engine.Refused},
		failure.NotFound:    {engine.NoImage, engine.NoUser, engine.NoProgram, engine.Unfit, engine.NoInit, engine.NoIDs},
		failure.Unreachable: {engine.Unreachable, engine.NoTLS, ""},
	} {
		for _, k := range kinds {
			err := fmt.Errorf("around: %w", &engine.Error{Engine: engine.Docker, Kind: k})
			if got := failure.Of(err); got != want {
				t.Errorf("%q: got %q, want %q", k, got, want)
			}
		}
	}
}
