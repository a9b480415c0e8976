package tamper

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
)

// twins is a registry with a good and an evil version of everything: a signed catalog that pins a
// program and names a script by a tag. The script is signed itself. The registry answers each
// request with one version or the other.
type twins struct {
	*scene
	names map[string]string // readable names of good content, by the hex of its digest
	evil  map[string]string // the evil version, by REPO/TAG and by the hex of the good digest

	mu    sync.Mutex
	asked []string       // every request
	times map[string]int // how often each request was made
	flip  func(asked string, before []string) bool
	lie   bool // the header of evil content has the expected digest
}

// newTwins makes both versions of everything. The stranger, whom nobody trusts, signs the evil one.
func newTwins(t *testing.T, fallback bool, platform, stranger hand) *twins {
	t.Helper()
	w := &twins{
		scene: &scene{world: newWorld(t, fallback), platform: platform, stranger: stranger},
		names: map[string]string{}, evil: map[string]string{}, times: map[string]int{},
	}
	w.write("platform.pub", platform.pem)
	mark := "echo >'" + filepath.Join(w.dir, "evil-was-run") + "'\n"
	// With functions alone kustomize has nothing to do, and is not started.
	const first = "if not ctx.resource_list[\"items\"]:\n" +
		"    ctx.resource_list[\"items\"].append({\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"cm\"}})\n"
	w.pair("fns/label", w.script("fns/label", first+goodScript, "v1"), w.script("fns/label", first+evilScript))
	good, child := w.program("fns/prog", goodProgram, "v1")
	evil, evilChild := w.program("fns/prog", strings.Replace(evilProgram, "\n", "\n"+mark, 1))
	w.pair("fns/prog", child, evilChild)
	w.pair("fns/prog", good, evil)
	names := func(index, child ocispec.Descriptor) map[string]string {
		return map[string]string{
			"Label": "{starlark: 'oci://HOST/fns/label:v1'}",
			"Prog":  "{exec: {uri: 'oci://HOST/fns/prog" + pin(index) + "', sha256: " + w.layer("fns/prog", child).Digest.Encoded() + "}}",
		}
	}
	w.pair("fns/catalog", w.catalog("fns/catalog", names(good, child), "v1"), w.catalog("fns/catalog", names(evil, evilChild)))
	w.write("app/composition.yaml", `kind: Composition
catalogs: ['oci://HOST/fns/catalog:v1']
transformers:
- {apiVersion: example.com/v1, kind: Label, metadata: {name: label}}
- {apiVersion: example.com/v1, kind: Prog, metadata: {name: prog}}
- {apiVersion: example.com/v1, kind: Label, metadata: {name: once more}}
`)
	w.answerBy(w.either)
	return w
}

// pair signs both versions, and records which evil content replaces which good content.
func (w *twins) pair(repo string, good, evil ocispec.Descriptor) {
	w.attach(repo, good, w.platform.both(good)...)
	w.attach(repo, evil, w.stranger.both(evil)...)
	w.change(repo, func(r *repository) {
		if r.Manifests["v1"].Descriptor().Digest == good.Digest {
			w.evil[repo+"/v1"] = evil.Digest.String()
		}
		w.same(r, repo, good, evil)
		w.same(r, repo+" .sig", r.Manifests[legacyTagOf(good)].Descriptor(), r.Manifests[legacyTagOf(evil)].Descriptor())
		w.same(r, repo+" bundle", r.Referrers(good.Digest)[0], r.Referrers(evil.Digest)[0])
	})
}

// same records two manifests and their files as versions of each other.
func (w *twins) same(r *repository, name string, good, evil ocispec.Descriptor) {
	var a, b ocispec.Manifest
	w.read(r.Manifests[good.Digest.String()], &a)
	w.read(r.Manifests[evil.Digest.String()], &b)
	note := func(name string, good, evil digest.Digest) {
		w.names[good.Encoded()], w.evil[good.Encoded()] = name, evil.Encoded()
		w.names[evil.Encoded()] = "evil " + name
	}
	kind := " manifest"
	if good.MediaType == ocispec.MediaTypeImageIndex {
		kind = " index"
	}
	note(name+kind, good.Digest, evil.Digest)
	for i := range a.Layers {
		note(name+" file", a.Layers[i].Digest, b.Layers[i].Digest)
	}
}

// either answers with the evil version where flip returns true.
func (w *twins) either(rw http.ResponseWriter, r *http.Request) bool {
	repo, kind, name, ok := regtest.Parts(r.URL.Path)
	if !ok {
		return false
	}
	asked := r.Method + " " + repo + " " + kind + " " + name
	for hex, words := range w.names {
		asked = strings.ReplaceAll(asked, hex, "("+words+")")
	}
	w.mu.Lock()
	w.times[asked]++
	asked = fmt.Sprintf("%s, time %d", asked, w.times[asked])
	before := slices.Clone(w.asked)
	w.asked = append(w.asked, asked)
	flip := w.flip != nil && w.flip(asked, before)
	lie := w.lie
	w.mu.Unlock()
	if !flip {
		return false
	}
	// For content without an evil version, the registry answers with the good one.
	other := name
	if tag, ok := w.evil[repo+"/"+name]; ok {
		other = tag
	}
	for good, evil := range w.evil {
		other = strings.ReplaceAll(other, good, evil)
	}
	if expected := digest.Digest(name); lie && expected.Validate() == nil {
		rw.Header().Set("Docker-Content-Digest", name)
	} else if lie && kind == "manifests" {
		w.change(repo, func(r *repository) {
			if m, ok := r.Manifests[name]; ok {
				rw.Header().Set("Docker-Content-Digest", m.Descriptor().Digest.String())
			}
		})
	}
	w.serve(rw, r, other)
	return true
}

// again forgets the requests so far, and sets how the next ones are answered.
func (w *twins) again(flip func(asked string, before []string) bool, lie bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.times, w.flip, w.lie = nil, map[string]int{}, flip, lie
}

// requests returns the requests since the last call of again.
func (w *twins) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// ran reports whether the evil program was run: it creates a file besides its output.
func (w *twins) ran() bool {
	_, err := os.Stat(filepath.Join(w.dir, "evil-was-run"))
	return err == nil
}

// renderIt renders with the cache of a name.
func (w *twins) renderIt(cache string, more ...string) outcome {
	return w.cached(cache, append([]string{"render", "app", "--trusted-catalog", "oci://HOST/fns/catalog:v1",
		"--confine", "off"}, more...)...)
}

// turns are the ways to change the version that is served at one request.
func turns() map[string]func(at string) func(asked string, before []string) bool {
	return map[string]func(at string) func(string, []string) bool{
		"this answer alone": func(at string) func(string, []string) bool {
			return func(asked string, _ []string) bool { return asked == at }
		},
		"from this answer on": func(at string) func(string, []string) bool {
			return func(asked string, before []string) bool { return asked == at || slices.Contains(before, at) }
		},
		"until this answer": func(at string) func(string, []string) bool {
			return func(asked string, before []string) bool { return asked != at && !slices.Contains(before, at) }
		},
	}
}

// TestSecondAnswer renders from a registry whose answers differ from one request to the next. For
// each request of a render, the registry switches to the evil version, or back to the good one, at
// that request, with an empty and with a filled cache. Every run prints the good output, or
// nothing. Afterwards the cache has nothing evil in it.
func TestSecondAnswer(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the functions are shell scripts")
	}
	platform, stranger := newHand(t), newHand(t)
	for _, fallback := range []bool{false, true} {
		first := newTwins(t, fallback, platform, stranger)
		for _, warm := range []bool{false, true} {
			first.again(nil, false)
			if o := first.renderIt("cache", "--key", "platform.pub"); o.code != 0 {
				t.Fatalf("without tampering the command ends with %s", o)
			}
			requests := first.requests()
			checkRequests(t, requests, warm)
			for _, at := range requests {
				name := fmt.Sprintf("%s, warm cache %v, fallback tag %v", at, warm, fallback)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w := newTwins(t, fallback, platform, stranger)
					good := w.renderIt("good", "--key", "platform.pub")
					if good.code != 0 || !strings.Contains(good.stdout, "by: script") || !strings.Contains(good.stdout, "name: prog") {
						t.Fatalf("without tampering the command ends with %s", good)
					}
					for how, turn := range turns() {
						for _, lie := range []bool{false, true} {
							how := fmt.Sprintf("%s, lying header %v", how, lie)
							w.secondAnswer(t, secondAnswer{how, warm, good, func() { w.again(turn(at), lie) }})
						}
					}
				})
			}
		}
	}
}

// checkRequests checks that no run makes the same request twice: what was resolved, verified or
// read once is kept.
func checkRequests(t *testing.T, requests []string, warm bool) {
	t.Helper()
	const cold = 12 // three tags or digests, as many signature tags and lists, and content
	tags := 0
	for _, r := range requests {
		if strings.HasSuffix(r, " manifests v1, time 1") {
			tags++
		}
		if !strings.HasSuffix(r, ", time 1") {
			t.Errorf("a request was made more than once: %s", r)
		}
	}
	if tags != 2 || !warm && len(requests) < cold {
		t.Errorf("want requests for the tags of the catalog and of the script, and for content: %q", requests)
	}
}

// secondAnswer is a render during which the registry changes its answers.
type secondAnswer struct {
	how  string
	warm bool
	good outcome
	turn func()
}

// secondAnswer renders while the registry changes its answers, and then again from the good
// registry.
func (w *twins) secondAnswer(t *testing.T, c secondAnswer) {
	t.Helper()
	how, good := c.how, c.good
	w.again(nil, false)
	cache := strings.ReplaceAll(how, " ", "-")
	if c.warm {
		if o := w.renderIt(cache, "--key", "platform.pub"); o != good {
			t.Fatalf("%s: without tampering the command ends with %s", how, o)
		}
	}
	c.turn()
	o := w.renderIt(cache, "--key", "platform.pub")
	switch {
	case strings.Contains(o.stdout, "evil-was-here") || w.ran():
		t.Fatalf("%s: unverified content was run: %s", how, o)
	case o.code == 0 && o.stdout == good.stdout:
	case slices.Contains([]int{4, 6, 7}, o.code) && o.stdout == "" && o.stderr != "":
	default:
		t.Errorf("%s: %s\nwant the good output, or none and exit code 4, 6 or 7", how, o)
	}
	w.again(nil, false)
	if o := w.renderIt(cache, "--key", "platform.pub"); o != good || w.ran() {
		t.Errorf("%s: afterwards, from a good registry and the same cache, it ends with %s", how, o)
	}
}

// TestSecondAnswerToVerify does the same for commands that only report: nothing evil is ever called
// trusted, and whatever is called trusted as a whole is the good version.
func TestSecondAnswerToVerify(t *testing.T) {
	t.Parallel()
	platform, stranger := newHand(t), newHand(t)
	for name, run := range map[string][]string{
		"verify":       {"verify", "-r", "oci://HOST/fns/catalog:v1", "--format", "json", "--key", "platform.pub"},
		"view catalog": {"view", "catalog", "oci://HOST/fns/catalog:v1", "--format", "json", "--key", "platform.pub"},
	} {
		first := newTwins(t, false, platform, stranger)
		if o := first.krmcat(run...); o.code != 0 || !strings.Contains(o.stdout, `"trusted": true`) {
			t.Fatalf("without tampering the command ends with %s", o)
		}
		for _, at := range first.requests() {
			t.Run(name+", "+at, func(t *testing.T) {
				t.Parallel()
				w := newTwins(t, false, platform, stranger)
				good := w.krmcat(run...)
				for how, turn := range turns() {
					for _, lie := range []bool{false, true} {
						w.again(turn(at), lie)
						o := w.krmcat(run...)
						whole, evil := w.trusted(t, o.stdout)
						same := slices.Equal(tell(t, o.stdout), tell(t, good.stdout))
						if evil || whole && (o.code != 0 || !same) || !slices.Contains([]int{0, 4, 6, 7}, o.code) {
							t.Errorf("%s, lying header %v: %s", how, lie, o)
						}
					}
				}
			})
		}
	}
}

// told is what verify and view print, as far as this test needs it.
type told struct {
	digest, functions string
	trusted           bool
}

func tell(t *testing.T, stdout string) []told {
	t.Helper()
	type row struct {
		Digest    string
		Functions json.RawMessage
		Trusted   bool
		Trust     *row // from view
	}
	var list []row
	if stdout != "" && json.Unmarshal([]byte(stdout), &list) != nil {
		var one row
		if err := json.Unmarshal([]byte(stdout), &one); err != nil || one.Trust == nil || one.Trust.Digest != one.Digest {
			t.Fatalf("%v: %s", err, stdout)
		}
		one.Trusted = one.Trust.Trusted
		list = append(list, one)
	}
	var out []told
	for _, r := range list {
		out = append(out, told{r.Digest, string(r.Functions), r.Trusted})
	}
	return out
}

// trusted reports whether everything was called trusted, and whether anything evil was.
func (w *twins) trusted(t *testing.T, stdout string) (whole, evil bool) {
	t.Helper()
	list := tell(t, stdout)
	whole = len(list) > 0
	for _, one := range list {
		whole = whole && one.trusted
		evil = evil || one.trusted && strings.HasPrefix(w.names[strings.TrimPrefix(one.digest, "sha256:")], "evil ")
	}
	return whole, evil
}

// TestSecondAnswerCanFail shows that TestSecondAnswer can fail: a user who verifies nothing, or
// trusts the stranger, gets the evil version at each request that decides between them.
func TestSecondAnswerCanFail(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the functions are shell scripts")
	}
	w := newTwins(t, false, newHand(t), newHand(t))
	w.write("stranger.pub", w.stranger.pem)
	always := func(string, []string) bool { return true }
	for name, c := range map[string]struct {
		flip func(string, []string) bool
		more []string
		ran  bool
	}{
		"everything, and nothing is demanded":  {always, nil, true},
		"everything, and the stranger trusted": {always, []string{"--key", "stranger.pub"}, true},
		"the catalog, and nothing is demanded": {turns()["this answer alone"]("GET fns/catalog manifests v1, time 1"), nil, true},
		"the script, and nothing is demanded":  {turns()["this answer alone"]("GET fns/label manifests v1, time 1"), nil, false},
	} {
		w.again(c.flip, false)
		o := w.renderIt(strings.ReplaceAll(name, " ", "-"), c.more...)
		if o.code != 0 || !strings.Contains(o.stdout, "evil-was-here") || w.ran() != c.ran {
			t.Errorf("%s: %v, %s", name, slices.Sorted(maps.Keys(w.times)), o)
		}
		_ = os.Remove(filepath.Join(w.dir, "evil-was-run"))
	}
	w.again(always, false)
	for _, run := range [][]string{
		{"verify", "-r", "oci://HOST/fns/catalog:v1", "--format", "json", "--key", "stranger.pub"},
		{"view", "catalog", "oci://HOST/fns/catalog:v1", "--format", "json", "--key", "stranger.pub"},
	} {
		o := w.krmcat(run...)
		if whole, evil := w.trusted(t, o.stdout); !whole || !evil {
			t.Errorf("krmcat %q: %s", run, o)
		}
	}
}
