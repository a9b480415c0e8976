package tamper

import (
	"fmt"
	"maps"
	"regexp"
	"runtime"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/internal/sigtest"
)

// scene is a world with keys in the user's directory: platform.pub and friend.pub are trusted, and
// nobody trusts the stranger.
type scene struct {
	*world
	platform, friend, stranger hand
}

// tampering is one way of tampering with a world. Its set prepares a world without tampering, and
// returns the command that accepts it and the function that tampers with it.
type tampering struct {
	set  func(s *scene) (run []string, tamper func())
	says string // regular expression of the message afterwards
}

// TestTamperTable tampers with a world in every way that we know. Each row first checks that the
// command succeeds before the tampering, so that no row passes for another reason. Afterwards the
// exit code is 4 (not trusted), with a reason, and the command prints no content.
func TestTamperTable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the functions are shell scripts")
	}
	rows := map[string]tampering{}
	for _, more := range []map[string]tampering{
		contentRows(), placeRows(), forgeryRows(), keylessRows(), policyRows(), spellingRows(), ruleRows(), garbageRows(), renderRows(), layoutRows(), timeRows(),
	} {
		for name := range more {
			if _, twice := rows[name]; twice {
				t.Fatalf("two rows have the name %q", name)
			}
		}
		maps.Copy(rows, more)
	}
	const enough = 30
	if len(rows) < enough {
		t.Fatalf("there are only %d rows", len(rows))
	}
	platform, friend, stranger := newHand(t), newHand(t), newHand(t)
	for name, row := range rows {
		for _, fallback := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fallback tag %v", name, fallback), func(t *testing.T) {
				t.Parallel()
				row.try(t, &scene{newWorld(t, fallback), platform, friend, stranger})
			})
		}
	}
}

func (row tampering) try(t *testing.T, s *scene) {
	s.write("platform.pub", s.platform.pem)
	s.write("friend.pub", s.friend.pem)
	run, tamper := row.set(s)
	good := s.krmcat(run...)
	rendered := strings.Contains(good.stdout, "by: script") || strings.Contains(good.stdout, "name: prog")
	if good.code != 0 || run[0] == "render" && !rendered {
		t.Fatalf("without tampering krmcat %q ends with %s", run, good)
	}
	tamper()
	o := s.krmcat(run...)
	if o.code != 4 || !regexp.MustCompile(row.says).MatchString(o.said()) {
		t.Errorf("krmcat %q ends with %s\nwant exit code 4 and %q", run, o, row.says)
	}
	if run[0] == "render" && o.stdout != "" || strings.Contains(o.said(), "evil-was-here") {
		t.Errorf("krmcat %q failed as it should, but wrote: %s", run, o)
	}
}

// Functions that add a label with their name to their output.
const (
	goodScript  = "for r in ctx.resource_list[\"items\"]:\n    r[\"metadata\"][\"labels\"] = {\"by\": \"script\"}\n"
	evilScript  = "for r in ctx.resource_list[\"items\"]:\n    r[\"metadata\"][\"labels\"] = {\"by\": \"evil-was-here\"}\n"
	goodProgram = "#!/bin/sh\nsed 's/name: cm/name: prog/'\n"
	evilProgram = "#!/bin/sh\nsed 's/name: cm/name: evil-was-here/'\n"
)

const (
	label = "oci://HOST/fns/label:v1"
	prog  = "oci://HOST/fns/prog:v1"
)

// verifyKey returns the command that most rows run.
func verifyKey(refs ...string) []string {
	return append([]string{"verify", "--key", "platform.pub"}, refs...)
}

// signedScript publishes a script at fns/label:v1 that the platform signed in both forms.
func (s *scene) signedScript() ocispec.Descriptor {
	d := s.script("fns/label", goodScript, "v1")
	s.attach("fns/label", d, s.platform.both(d)...)
	return d
}

// signedProgram publishes a program at fns/prog:v1. Its index and its manifest are signed.
func (s *scene) signedProgram() (index, child ocispec.Descriptor) {
	index, child = s.program("fns/prog", goodProgram, "v1")
	s.attach("fns/prog", index, s.platform.both(index)...)
	s.attach("fns/prog", child, s.platform.both(child)...)
	return index, child
}

// edit changes one letter of the content that the registry stores under a digest.
func (s *scene) edit(repo string, d ocispec.Descriptor) {
	s.change(repo, func(r *repository) {
		name := d.Digest.String()
		if m, ok := r.Manifests[name]; ok {
			m.Data = edited(m.Data)
			r.Manifests[name] = m
			return
		}
		if len(r.Blobs[name]) == 0 {
			s.t.Fatalf("repository %s has no content %s to edit", repo, name)
		}
		r.Blobs[name] = edited(r.Blobs[name])
	})
}

// edited returns data of the same length with one letter changed. The letter is in the last word,
// so that JSON stays JSON and a script stays a script.
func edited(data []byte) []byte {
	out := append([]byte(nil), data...)
	for i := len(out) - 1; i >= 0; i-- {
		if out[i] >= 'a' && out[i] < 'z' {
			out[i]++
			return out
		}
	}
	panic("the data has no letter")
}

// contentRows change the content that is verified.
func contentRows() map[string]tampering {
	return map[string]tampering{
		"a changed manifest behind the tag": {func(s *scene) ([]string, func()) {
			s.signedScript()
			return verifyKey(label), func() { s.script("fns/label", evilScript, "v1") }
		}, "nobody signed it"},
		"a changed manifest behind the digest": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			return verifyKey("oci://HOST/fns/label@" + d.Digest.String()), func() { s.edit("fns/label", d) }
		}, "content does not match its digest"},
		"a changed manifest behind the tag, and the old digest in the header": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			return verifyKey(label), func() {
				evil := s.script("fns/label", evilScript)
				s.answerBy(s.answering("fns/label", "v1", evil, d.Digest.String()))
			}
		}, "content does not match its digest: wanted"},
		"a changed index behind the tag": {func(s *scene) ([]string, func()) {
			s.signedProgram()
			return verifyKey(prog), func() { s.program("fns/prog", evilProgram, "v1") }
		}, "nobody signed it"},
		"a changed index behind the digest": {func(s *scene) ([]string, func()) {
			index, _ := s.signedProgram()
			return verifyKey("oci://HOST/fns/prog@" + index.Digest.String()), func() { s.edit("fns/prog", index) }
		}, "content does not match its digest"},
		"a signed index in which an unsigned manifest replaces the signed one": {func(s *scene) ([]string, func()) {
			s.signedProgram()
			return verifyKey(prog), func() {
				s.change("fns/prog", func(r *repository) {
					var index ocispec.Index
					s.read(r.Manifests["v1"], &index)
					evil := evilChild(r)
					index.Manifests[0].Digest, index.Manifests[0].Size = evil.Digest, evil.Size
					put(r, ocispec.MediaTypeImageIndex, index, "v1")
				})
			}
		}, "nobody signed it"},
		"a signed manifest in an unsigned index": {func(s *scene) ([]string, func()) {
			index, child := s.signedProgram()
			return verifyKey(prog), func() {
				s.strip("fns/prog", index)
				if o := s.krmcat(verifyKey("oci://HOST/fns/prog@" + child.Digest.String())...); o.code != 0 {
					s.t.Errorf("the manifest is not trusted: %s", o)
				}
			}
		}, "nobody signed it"},
		"a tag moved to an older artifact that a stranger signed": {func(s *scene) ([]string, func()) {
			s.signedScript()
			old := s.script("fns/label", evilScript)
			s.attach("fns/label", old, s.stranger.both(old)...)
			return verifyKey(label), func() {
				s.change("fns/label", func(r *repository) { r.Manifests["v1"] = r.Manifests[old.Digest.String()] })
			}
		}, "none of the required keys made it"},
		"a tag moved after signing": {func(s *scene) ([]string, func()) {
			s.signedScript()
			next := s.script("fns/label", goodScript+"# next\n")
			return verifyKey(label), func() {
				s.change("fns/label", func(r *repository) { r.Manifests["v1"] = r.Manifests[next.Digest.String()] })
			}
		}, "nobody signed it"},
	}
}

// placeRows put genuine signatures in the wrong place, or remove them.
func placeRows() map[string]tampering {
	return map[string]tampering{
		"both forms stripped": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			return verifyKey(label), func() { s.strip("fns/label", d) }
		}, "nobody signed it"},
		"a copy without its signatures in another repository": {func(s *scene) ([]string, func()) {
			s.signedScript()
			copied := s.script("mirror/label", goodScript, "v1")
			s.attach("mirror/label", copied, s.platform.both(copied)...)
			return verifyKey("oci://HOST/mirror/label:v1"), func() { s.strip("mirror/label", copied) }
		}, "mirror/label:v1 .*nobody signed it"},
		"the signatures of another artifact under the signature tag of this one": {func(s *scene) ([]string, func()) {
			d := s.script("fns/label", goodScript, "v1")
			s.attach("fns/label", d, s.platform.legacy(said{digest: d.Digest}))
			other := s.script("fns/label", "x = 1\n")
			s.attach("fns/label", other, s.platform.legacy(said{digest: other.Digest}))
			return verifyKey(label), func() {
				s.change("fns/label", func(r *repository) { r.Manifests[legacyTagOf(d)] = r.Manifests[legacyTagOf(other)] })
			}
		}, "it signs sha256:[0-9a-f]{64}, another artifact"},
		"the bundle of another artifact as a referrer of this one": {func(s *scene) ([]string, func()) {
			d := s.script("fns/label", goodScript, "v1")
			s.attach("fns/label", d, s.platform.bundle(said{digest: d.Digest}))
			other := s.script("fns/label", "x = 1\n")
			return verifyKey(label), func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, s.platform.bundle(said{digest: other.Digest}))
			}
		}, "it signs sha256:[0-9a-f]{64}, another artifact"},
		"a listed referrer whose subject is another manifest": {func(s *scene) ([]string, func()) {
			d := s.script("fns/label", goodScript, "v1")
			s.attach("fns/label", d, s.platform.bundle(said{digest: d.Digest}))
			other := s.script("fns/label", "x = 1\n")
			return verifyKey(label), func() {
				s.strip("fns/label", d)
				s.change("fns/label", func(r *repository) {
					// The statement is right, but the referrer belongs to another manifest.
					a := attach(r, other, s.platform.bundle(said{digest: d.Digest}))
					a.ArtifactType = bundleLayer
					r.Listed[d.Digest] = append(r.Listed[d.Digest], a)
				})
			}
		}, "nobody signed it"},
		"signatures of the manifest only, where the index is verified": {func(s *scene) ([]string, func()) {
			index, child := s.signedProgram()
			return verifyKey(prog), func() {
				s.change("fns/prog", func(r *repository) {
					for _, a := range r.Referrers(index.Digest) {
						delete(r.Manifests, a.Digest.String())
					}
					r.Manifests[legacyTagOf(index)] = r.Manifests[legacyTagOf(child)]
				})
			}
		}, "another artifact"},
		"the trusted signature removed, a stranger's signature left": {func(s *scene) ([]string, func()) {
			d := s.signedScript()
			s.attach("fns/label", d, s.stranger.both(d)...)
			return verifyKey(label), func() {
				s.strip("fns/label", d)
				s.attach("fns/label", d, s.stranger.both(d)...)
			}
		}, "(?s)legacy signature: none of the required keys made it.*bundle signature: none of the required keys made it"},
		"another key": {func(s *scene) ([]string, func()) {
			s.signedScript()
			return verifyKey(label), func() { s.write("platform.pub", s.stranger.pem) }
		}, "none of the required keys made it"},
	}
}

// answering serves a manifest under a name, with the digest of something else in the header.
func (s *scene) answering(repo, name string, d ocispec.Descriptor, header string) func(rw httpWriter, r *httpRequest) bool {
	return func(rw httpWriter, r *httpRequest) bool {
		at, kind, asked, _ := regtest.Parts(r.URL.Path)
		if at != repo || kind != "manifests" || asked != name {
			return false
		}
		rw.Header().Set("Docker-Content-Digest", header)
		s.serve(rw, r, d.Digest.String())
		return true
	}
}

// alice returns an identity that signs without a key.
func alice() sigtest.Identity {
	return sigtest.Identity{Subject: "alice@example.com", Issuer: "https://issuer.example.com"}
}
