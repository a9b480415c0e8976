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

// twins is a registry with a good and an evil version of everything: a signed catalog that
// pins a program, and names a script by a tag, which is signed itself. Who asks is given the
// one or the other, request by request.
type twins struct {
	*scene
	names map[string]string // of what is good, by the hex of its digest: for people
	evil  map[string]string // of the evil version, by REPO/TAG and by the hex of the good digest

	mu    sync.Mutex
	asked []string       // every request
	times map[string]int // how often each was made
	flip  func(asked string, before []string) bool
	lie   bool // the header of evil content says the digest that is expected
}

// newTwins makes everything twice. The stranger, whom nobody trusts, signs what is evil.
func newTwins(t *testing.T, fallback bool, platform, stranger hand) *twins {
	t.Helper()
	w := &twins{
		scene: &scene{world: newWorld(t, fallback), platform: platform, stranger: stranger},
		names: map[string]string{}, evil: map[string]string{}, times: map[string]int{},
	}
	w.write("platform.pub", platform.pem)
	mark := "echo >'" + filepath.Join(w.dir, "evil-was-run") + "'\n"
	// Functions alone: kustomize has nothing to do, and is not started.
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

// pair signs both versions, and notes what of the one stands for what of the other.
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

// same notes two manifests, and their files.
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

// either answers with the evil version where flip says so.
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
	// Of what has no evil version, the registry answers with what there is.
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

// again forgets what was asked, and says what is answered from now on.
func (w *twins) again(flip func(asked string, before []string) bool, lie bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked, w.times, w.flip, w.lie = nil, map[string]int{}, flip, lie
}

// requests is what was asked since.
func (w *twins) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// ran says whether the evil program was run. It did something beside its output.
func (w *twins) ran() bool {
	_, err := os.Stat(filepath.Join(w.dir, "evil-was-run"))
	return err == nil
}

// renderIt renders with a cache of a name.
func (w *twins) renderIt(cache string, more ...string) outcome {
	return w.cached(cache, append([]string{"render", "app", "--trusted-catalog", "oci://HOST/fns/catalog:v1",
		"--confine", "off"}, more...)...)
}

// turns are the ways of changing the answers at one request.
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

// TestSecondAnswer renders from a registry that answers differently from one request to the
// next. Each request of a render is the one at which it turns evil, or good again, with a
// cache that is cold or warm. In every run exactly what is good comes out, or nothing: and
// the cache has nothing evil in it afterwards.
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
				t.Fatalf("the good world gives %s", o)
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
						t.Fatalf("the good world gives %s", good)
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

// checkRequests is that nothing is asked for twice in a run: what was resolved, verified or
// read once stays.
func checkRequests(t *testing.T, requests []string, warm bool) {
	t.Helper()
	const cold = 12 // three tags or digests, as many signature tags and lists, and content
	tags := 0
	for _, r := range requests {
		if strings.HasSuffix(r, " manifests v1, time 1") {
			tags++
		}
		if !strings.HasSuffix(r, ", time 1") {
			t.Errorf("asked for more than once: %s", r)
		}
	}
	if tags != 2 || !warm && len(requests) < cold {
		t.Errorf("the tags of the catalog and the script were not asked for, or little else: %q", requests)
	}
}

// secondAnswer is a render while the registry turns.
type secondAnswer struct {
	how  string
	warm bool
	good outcome
	turn func()
}

// secondAnswer renders while the registry turns, and then from one that is good.
func (w *twins) secondAnswer(t *testing.T, c secondAnswer) {
	t.Helper()
	how, good := c.how, c.good
	w.again(nil, false)
	cache := strings.ReplaceAll(how, " ", "-")
	if c.warm {
		if o := w.renderIt(cache, "--key", "platform.pub"); o != good {
			t.Fatalf("%s: the good world gives %s", how, o)
		}
	}
	c.turn()
	o := w.renderIt(cache, "--key", "platform.pub")
	switch {
	case strings.Contains(o.stdout, "evil-was-here") || w.ran():
		t.Fatalf("%s: what nobody verified was run: %s", how, o)
	case o.code == 0 && o.stdout == good.stdout:
	case slices.Contains([]int{4, 6, 7}, o.code) && o.stdout == "" && o.stderr != "":
	default:
		t.Errorf("%s: %s\nwanted what is good, or nothing and 4, 6 or 7", how, o)
	}
	w.again(nil, false)
	if o := w.renderIt(cache, "--key", "platform.pub"); o != good || w.ran() {
		t.Errorf("%s: afterwards, from a good registry and the same cache, there is %s", how, o)
	}
}

// TestSecondAnswerToVerify is the same for what only tells: nothing evil is ever called
// trusted, and what is called trusted as a whole is what is good.
func TestSecondAnswerToVerify(t *testing.T) {
	t.Parallel()
	platform, stranger := newHand(t), newHand(t)
	for name, run := range map[string][]string{
		"verify":       {"verify", "-r", "oci://HOST/fns/catalog:v1", "--format", "json", "--key", "platform.pub"},
		"view catalog": {"view", "catalog", "oci://HOST/fns/catalog:v1", "--format", "json", "--key", "platform.pub"},
	} {
		first := newTwins(t, false, platform, stranger)
		if o := first.krmcat(run...); o.code != 0 || !strings.Contains(o.stdout, `"trusted": true`) {
			t.Fatalf("the good world gives %s", o)
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

// told is what verify and view tell, as far as it matters here.
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
		Trust     *row // of view
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

// trusted is whether everything was called trusted, and whether something evil was.
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

// TestEvilTwinsAreEvil is that TestSecondAnswer could fail: who demands nothing, or trusts
// the stranger, gets what is evil, from each request that decides it.
func TestEvilTwinsAreEvil(t *testing.T) {
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
