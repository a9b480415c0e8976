package cosign_test

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// TestLyingSigner checks that a signature of anything but the claim, or one for another place, is
// refused.
func TestLyingSigner(t *testing.T) {
	t.Parallel()
	private, public, err := local().GenerateKey("", nil)
	if err != nil {
		t.Fatal(err)
	}
	claim := cosign.Claim{Digest: subject, Annotations: map[string]string{"by": "me"}}
	sign := func(c cosign.Claim) []registry.Attachment {
		s, err := local().LoadSigner(private, nil, cosign.FormBundle, cosign.FormLegacy)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.Sign(t.Context(), c)
		if err != nil || len(list) != 2 {
			t.Fatalf("%d, %v", len(list), err)
		}
		return list
	}
	// each returns one of the two signatures of an honest judge, changed.
	change := func(i int, f func(a *registry.Attachment)) []registry.Attachment {
		list := sign(claim)
		f(&list[i])
		return list[i : i+1]
	}
	for name, made := range map[string][]registry.Attachment{
		"none":                {},
		"another digest":      sign(cosign.Claim{Digest: another, Annotations: claim.Annotations})[:1],
		"another digest, old": sign(cosign.Claim{Digest: another, Annotations: claim.Annotations})[1:],
		"annotations":         sign(cosign.Claim{Digest: subject, Annotations: map[string]string{"by": "you"}})[:1],
		"annotations, old":    sign(cosign.Claim{Digest: subject})[1:],
		"one more":            append(sign(claim), sign(cosign.Claim{Digest: another})...),
		"at another place":    change(1, func(a *registry.Attachment) { a.Tag = cosign.LegacyTag(another) }),
		"with more to tell": change(0, func(a *registry.Attachment) {
			a.Annotations = maps.Clone(a.Annotations)
			a.Annotations["key"] = "secret"
		}),
		"with another file": change(0, func(a *registry.Attachment) { a.Files = append(a.Files, a.Files[0]) }),
		"of other bytes": change(0, func(a *registry.Attachment) {
			a.Files[0].Data = bytes.Clone(a.Files[0].Data)
			a.Files[0].Data[0] = ' '
		}),
		"of another type": change(0, func(a *registry.Attachment) { a.ArtifactType = "text/plain" }),
		"honest":          sign(claim),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := liar(func(q cosign.Request) any {
				if q.Op == cosign.OpKey {
					return cosign.Response{ID: q.ID, Public: public}
				}
				return cosign.Response{ID: q.ID, Attached: made}
			})
			s, err := m.LoadSigner(private, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Sign(t.Context(), claim)
			switch {
			case name == "honest" && (err != nil || len(got) != len(made)):
				t.Errorf("%d, %v", len(got), err)
			case name != "honest" && (!errors.Is(err, failure.Untrusted) || got != nil):
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestMessagesHoldWhatIsRead checks that everything within the limits of package registry fits into
// a message, with any escapes of JSON.
func TestMessagesHoldWhatIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]string{"markup": "<", "control characters": "\x01", "no UTF-8": "\xff", "separators": "\u2028"} {
		var found []registry.Attachment
		const size, parts = 8 << 20, 8
		for range parts {
			text := strings.Repeat(c, size/parts/len(c))
			found = append(found, registry.Attachment{Annotations: map[string]string{"a": text}})
		}
		q := cosign.Request{Op: cosign.OpJudge, Demand: &cosign.Demand{TrustedRoot: make([]byte, 4<<20)}, Subject: digest.FromString(""), Found: found}
		if err := cosign.Send(io.Discard, q); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
