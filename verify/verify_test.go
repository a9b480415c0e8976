package verify_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

var script = []byte("x = 1\n")

func subject(pin digest.Digest) verify.Subject {
	from := reference.Locator{Scheme: reference.SchemeFile, Name: "/f.star", Digest: pin}
	return verify.Subject{Artifact: registry.Literal(from, mediatypes.RoleStarlark, "f.star", script)}
}

// yes is a checker that accepts everything.
type yes struct{}

func (yes) Check(context.Context, verify.Subject) (verify.Evidence, error) {
	return verify.Evidence{Method: "yes"}, nil
}

// no is a checker that refuses.
type no struct{ err error }

func (n no) Check(context.Context, verify.Subject) (verify.Evidence, error) {
	return verify.Evidence{}, n.err
}

func TestZeroTrustedOpensNothing(t *testing.T) {
	t.Parallel()
	var key verify.Trusted
	if _, err := key.Artifact(); !errors.Is(err, verify.ErrNotVerified) {
		t.Errorf("artifact: %v", err)
	}
	if _, err := key.Read(t.Context(), 0); !errors.Is(err, verify.ErrNotVerified) {
		t.Errorf("content: %v", err)
	}
	if key.Evidence() != nil {
		t.Errorf("evidence: %v", key.Evidence())
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	good, bad := digest.FromBytes(script), digest.FromString("something else")
	broken := errors.New("the key server is down")
	inner := func(d digest.Digest, err error) func(context.Context, []byte) (digest.Digest, error) {
		return func(_ context.Context, blob []byte) (digest.Digest, error) {
			if !bytes.Equal(blob, script) {
				t.Errorf("asked to look into %q", blob)
			}
			return d, err
		}
	}
	with := func(pin, promised digest.Digest, in func(context.Context, []byte) (digest.Digest, error)) verify.Subject {
		s := subject(pin)
		s.Promised, s.Inner = promised, in
		return s
	}
	for _, c := range []struct {
		name     string
		subject  verify.Subject
		checkers []verify.Checker
		want     string // part of the refusal, "" for trusted
		could    bool   // it is refused, and not an error of the check
	}{
		{"no checker", with("", "", nil), nil, "no rule says that it may be used", true},
		{"yes", with("", "", nil), []verify.Checker{yes{}}, "", true},
		{"yes and no", with("", "", nil), []verify.Checker{yes{}, no{&verify.UntrustedError{Ref: "r", Reasons: verify.Because("nobody signed it")}}}, "nobody signed it", true},
		{"could not be checked", with("", "", nil), []verify.Checker{no{broken}}, "key server", false},
		{"pinned and fits", with(good, "", nil), []verify.Checker{verify.Pinned{By: "b"}}, "", true},
		{"pinned to something else", with(bad, "", nil), []verify.Checker{yes{}}, "the reference is pinned to " + bad.String(), true},
		{"promise fits", with("", good, nil), []verify.Checker{verify.Pinned{By: "b"}}, "", true},
		{"promise broken, whoever says yes", with("", bad, nil), []verify.Checker{yes{}, verify.UserFlag{}}, "promises sha256 " + bad.Encoded(), true},
		{"promise of the program inside", with("", bad, inner(bad, nil)), []verify.Checker{verify.Pinned{}}, "", true},
		{"promise of neither", with("", bad, inner(digest.FromString("third"), nil)), []verify.Checker{yes{}}, digest.FromString("third").Encoded(), true},
		{"nothing inside", with("", bad, inner("", nil)), []verify.Checker{yes{}}, "the file has " + good.Encoded(), true},
		{"broken inside", with("", bad, inner("", errors.New("not an archive"))), []verify.Checker{yes{}}, "not an archive", true},
		{"fits outside, so nobody looks inside", with("", good, inner("", errors.New("looked"))), []verify.Checker{yes{}}, "", true},
		{"no digest", with("", "", nil), []verify.Checker{verify.Pinned{By: "b"}}, "neither a sha256 nor a digest", true},
		{"no content", verify.Subject{Promised: good}, []verify.Checker{yes{}}, "no content", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			key, err := verify.Verify(t.Context(), c.subject, c.checkers...)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if data, err := key.Read(t.Context(), 0); err != nil || !bytes.Equal(data, script) {
					t.Errorf("read %q, %v", data, err)
				}
				if len(key.Evidence()) != len(c.checkers) {
					t.Errorf("evidence: %v", key.Evidence())
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("want %q, got %v", c.want, err)
			}
			if _, err := key.Artifact(); err == nil {
				t.Error("refused, and the key opens")
			}
			var untrusted *verify.UntrustedError
			if errors.As(err, &untrusted) != c.could {
				t.Errorf("not trusted and could not check are confused: %v", err)
			}
		})
	}
}

// TestVerifyKeepsToWhatWasForeseen checks that content that is refused without its signatures stays
// refused, even if a checker accepts it a moment later.
func TestVerifyKeepsToWhatWasForeseen(t *testing.T) {
	t.Parallel()
	doc, judged := decodePolicy(t, "  - {match: '**', runtimes: {stamp: ann}}\n")
	over, _ := decodePolicy(t, "  - {match: '**', runtimes: {nothing: {reason: x, until: 2026-06-01}}}\n")
	asked := 0
	now := func() time.Time { // is set back
		if asked++; asked == 1 {
			return noon()
		}
		return noon().AddDate(0, -1, 0)
	}
	s := subject(digest.FromBytes(script))
	s.Artifact.From = place(t, "oci://r.example/x@"+digest.FromBytes(script).String())
	p := verify.Policy{Documents: []*verify.TrustPolicy{doc, over}, Now: now}
	checkers := append(p.Checkers(verify.Request{Use: verify.UseScript, Ref: s.Artifact.From, By: "b"}), verify.Pinned{By: "b"})
	_, err := verify.Verify(t.Context(), s, checkers...)
	if err == nil || judged.Load() > 0 || !strings.Contains(err.Error(), "the exemption expired") {
		t.Errorf("got %v, and signatures were judged %d times", err, judged.Load())
	}
}

func TestPolicy(t *testing.T) {
	t.Parallel()
	pin := digest.FromBytes(script)
	for _, c := range []struct {
		name    string
		policy  verify.Policy
		use     verify.Use
		pin     digest.Digest
		trusted bool
		warns   bool
	}{
		{"script", verify.Policy{}, verify.UseScript, "", true, true},
		{"pinned script", verify.Policy{}, verify.UseScript, pin, true, false},
		{"script, strict", verify.Policy{RequireDigests: true}, verify.UseScript, "", false, false},
		{"catalog", verify.Policy{}, verify.UseCatalog, "", true, true},
		{"catalog, strict", verify.Policy{RequireDigests: true}, verify.UseCatalog, "", false, false},
		{"pinned catalog, strict", verify.Policy{RequireDigests: true}, verify.UseCatalog, pin, true, false},
		{"program", verify.Policy{}, verify.UseProgram, "", false, false},
		{"pinned program", verify.Policy{}, verify.UseProgram, pin, true, false},
	} {
		key, err := verify.Verify(t.Context(), subject(c.pin), c.policy.Checkers(verify.Request{Use: c.use, By: "the catalog c"})...)
		if (err == nil) != c.trusted {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, e := range key.Evidence() {
			if (e.Warning != "") != c.warns || !strings.Contains(e.Detail, "the catalog c") {
				t.Errorf("%s: %+v", c.name, e)
			}
		}
	}
}

// TestForeseenByWhoPins checks that a program without a digest in a catalog is refused without a
// request. A reference of the user's is resolved, so that the error has the digest.
func TestForeseenByWhoPins(t *testing.T) {
	t.Parallel()
	ref, err := reference.Parse("oci://registry.example.com/fn:v1")
	if err != nil {
		t.Fatal(err)
	}
	s := verify.Subject{Artifact: registry.Artifact{From: ref}}
	for _, by := range []string{"the catalog c", "Katalog c", ""} {
		for _, catalog := range []bool{false, true} {
			ask := verify.Request{Use: verify.UseProgram, Ref: ref, By: by, ByCatalog: catalog}
			no := verify.Foresee(s, verify.Policy{}.Checkers(ask)...)
			_, err := verify.Verify(t.Context(), s, verify.Policy{}.Checkers(ask)...)
			if (no != nil) != catalog || err == nil || strings.Contains(err.Error(), "push --pin") != catalog {
				t.Errorf("by %q, a catalog %v: foreseen %v, then %v", by, catalog, no, err)
			}
		}
	}
}

// ExampleVerify verifies content that a catalog pins.
func ExampleVerify() {
	s := subject("")
	s.Promised = digest.FromBytes(script)
	key, err := verify.Verify(context.Background(), s, verify.Pinned{By: "the catalog c"})
	if err != nil {
		panic(err)
	}
	data, err := key.Read(context.Background(), 0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s%s", data, key.Evidence()[0].Method)
	// Output:
	// x = 1
	// pinned
}
