package leave_test

import (
	"slices"
	"testing"

	"github.com/krmcat/krmcat/internal/leave"
)

// TestLeaver ends a process as soon as nothing is held, once, and after it was tidied up.
func TestLeaver(t *testing.T) {
	t.Parallel()
	l := &leave.Leaver{}
	ctx := leave.With(t.Context(), l)
	if leave.Of(ctx) != l || leave.Of(t.Context()) != nil {
		t.Fatal("the context does not carry it")
	}
	var did []string
	do := func(what string) func() { return func() { did = append(did, what) } }
	one, two := l.Hold(), l.Hold()
	l.Tidy(do("removed early"))()
	later := l.Tidy(do("removed at the end"))
	l.When(do("ended"))
	one()
	one() // which counts once
	if want := []string{"removed early"}; !slices.Equal(did, want) {
		t.Fatalf("while something is held: %q", did)
	}
	two()
	later()
	l.Hold()()
	if want := []string{"removed early", "removed at the end", "ended"}; !slices.Equal(did, want) {
		t.Errorf("got %q, want %q", did, want)
	}
}

// TestNobodyEnds does all of it where nobody ends the process.
func TestNobodyEnds(t *testing.T) {
	t.Parallel()
	l := leave.Of(t.Context())
	l.Hold()()
	removed := 0
	now := l.Tidy(func() { removed++ })
	now()
	now()
	if removed != 1 {
		t.Errorf("removed %d times", removed)
	}
}
