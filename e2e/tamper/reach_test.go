package tamper

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/internal/regtest"
)

// disturbance keeps krmcat from reading signatures.
type disturbance struct {
	fallback bool // the registry has no referrers API
	// where lists the requests that are disturbed: for the signature tag, the list of referrers,
	// its fallback tag, or the bytes of signatures.
	where  []string
	answer http.HandlerFunc
	code   int
	says   string
}

const (
	atTag      = "signature tag"
	atList     = "referrers"
	atFallback = "fallback tag"
	atBlob     = "signature blob"
	atManifest = "manifest of a bundle"
)

// status answers with a status. The long Retry-After keeps krmcat from trying again.
func status(code int) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Retry-After", "3600")
		rw.WriteHeader(code)
	}
}

// forever closes every connection before an answer.
func forever(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// cut closes the connection of every second request, and answers the others with 503 and a long
// Retry-After, so that krmcat gives up soon.
func cut() http.HandlerFunc { return everySecond(forever) }

// half does the same, but sends less than it announces instead of closing at once.
func half() http.HandlerFunc { return everySecond(halfOf) }

func everySecond(h http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int32
	return func(rw http.ResponseWriter, r *http.Request) {
		if n.Add(1)%2 == 0 {
			status(503)(rw, r)
			return
		}
		h(rw, r)
	}
}

func halfOf(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
	rw.Header().Set("Content-Length", "1000")
	_, _ = rw.Write([]byte("{"))
	panic(http.ErrAbortHandler)
}

// text answers with a body of a media type.
func text(mediaType, body string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", mediaType)
		_, _ = rw.Write([]byte(body))
	}
}

func disturbances() map[string]disturbance {
	const unreachable = "could not be reached|not authorised|the request was refused"
	everywhere := []string{atTag, atList, atFallback}
	return map[string]disturbance{
		// Whether there are signatures is not known: exit code 7, and never trusted.
		"500 at the signature tag":           {false, []string{atTag}, status(500), 7, unreachable},
		"503 at the signature tag":           {true, []string{atTag}, status(503), 7, unreachable},
		"401 at the signature tag":           {false, []string{atTag}, status(401), 7, "not authorised"},
		"403 at the signature tag":           {false, []string{atTag}, status(403), 7, "not authorised"},
		"429 at the signature tag":           {false, []string{atTag}, status(429), 7, unreachable},
		"a connection cut at the tag":        {false, []string{atTag}, cut(), 7, unreachable},
		"every connection cut at the tag":    {false, []string{atTag}, forever, 7, unreachable},
		"half an answer at the tag":          {false, []string{atTag}, half(), 7, unreachable},
		"500 for the referrers":              {false, []string{atList}, status(500), 7, unreachable},
		"401 for the referrers":              {false, []string{atList}, status(401), 7, "not authorised"},
		"403 for the referrers":              {false, []string{atList}, status(403), 7, "not authorised"},
		"a connection cut at the referrers":  {false, []string{atList}, cut(), 7, unreachable},
		"500 at the fallback tag":            {true, []string{atFallback}, status(500), 7, unreachable},
		"401 at the fallback tag":            {true, []string{atFallback}, status(401), 7, "not authorised"},
		"500 for the bytes of a signature":   {false, []string{atBlob}, status(500), 7, unreachable},
		"403 for the bytes of a signature":   {false, []string{atBlob}, status(403), 7, "not authorised"},
		"408 for the bytes of a signature":   {false, []string{atBlob}, status(408), 7, unreachable},
		"504 for the bytes of a signature":   {true, []string{atBlob}, status(504), 7, unreachable},
		"a connection cut amid a signature":  {false, []string{atBlob}, half(), 7, unreachable},
		"500 for the manifest of a bundle":   {false, []string{atManifest}, status(500), 7, unreachable},
		"a list that goes on somewhere else": {false, []string{atList}, elsewhere, 7, unreachable},
		"500 everywhere":                     {true, everywhere, status(500), 7, unreachable},
		// The registry answers that there is no signature that counts.
		"404 everywhere":                      {true, everywhere, status(404), 4, "nobody signed it"},
		"404 but for an empty list":           {false, []string{atTag, atList}, emptyOr404, 4, "nobody signed it"},
		"a page for people and nothing else":  {true, everywhere, pageOr404, 4, "nobody signed it"},
		"a list that is no JSON":              {false, []string{atList}, text(ocispec.MediaTypeImageIndex, "{{"), 4, "its list of referrers is not an index"},
		"a signature tag that is no manifest": {false, []string{atTag}, text(ocispec.MediaTypeImageManifest, "[]"), 4, "its attachments cannot be used"},
		"bytes of a signature that are gone":  {false, []string{atBlob}, status(404), 4, "its attachments cannot be used"},
		"other bytes of a signature":          {false, []string{atBlob}, text("application/octet-stream", "{}"), 4, "does not match its digest"},
	}
}

// elsewhere refers to another host for the rest of a list.
func elsewhere(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Link", `<http://127.0.0.1:1/v2/more>; rel="next"`)
	text(ocispec.MediaTypeImageIndex, `{"schemaVersion": 2, "manifests": []}`)(rw, nil)
}

func emptyOr404(rw http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/referrers/") {
		text(ocispec.MediaTypeImageIndex, `{"schemaVersion": 2, "manifests": []}`)(rw, r)
		return
	}
	http.NotFound(rw, r)
}

func pageOr404(rw http.ResponseWriter, r *http.Request) {
	if strings.Contains(r.URL.Path, "/referrers/") {
		text("text/html", "<p>hello</p>")(rw, r)
		return
	}
	http.NotFound(rw, r)
}

// TestNotTrustedIsNotUnreachable checks that 4 and 7 are kept apart. A registry that hides
// signatures is no reason to trust, and no proof that nobody signed. verify and render agree.
func TestNotTrustedIsNotUnreachable(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the functions are shell scripts")
	}
	platform := newHand(t)
	for name, d := range disturbances() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scene{world: newWorld(t, d.fallback), platform: platform}
			s.write("platform.pub", platform.pem)
			script := s.script("fns/label", goodScript, "v1")
			s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1"+pin(script)+"'}")
			runs := [][]string{verifyKey("oci://HOST/fns/catalog:v1"), s.render("--key", "platform.pub")}
			for _, run := range runs {
				if o := s.krmcat(run...); o.code != 0 {
					t.Fatalf("undisturbed, krmcat %q ends with %s", run, o)
				}
			}
			if name == "every connection cut at the tag" {
				runs = runs[1:] // krmcat retries for six seconds
			}
			hits := s.disturb(d.where, d.answer)
			for _, run := range runs {
				o := s.krmcat(run...)
				if o.code != d.code || !regexp.MustCompile(d.says).MatchString(o.said()) {
					t.Errorf("krmcat %q ends with %s\nwant exit code %d and %q", run, o, d.code, d.says)
				}
				if run[0] == "render" && o.stdout != "" || strings.Contains(o.stdout, "Verdict: trusted") {
					t.Errorf("krmcat %q could not read signatures, but wrote %s", run, o)
				}
			}
			if hits.Load() == 0 {
				t.Error("no request was disturbed")
			}
		})
	}
}

// disturb answers the requests listed in where in place of the registry, and counts them.
func (s *scene) disturb(where []string, answer http.HandlerFunc) *atomic.Int32 {
	hits := new(atomic.Int32)
	s.answerBy(func(rw http.ResponseWriter, r *http.Request) bool {
		repo, kind, name, _ := regtest.Parts(r.URL.Path)
		for _, w := range where {
			if s.is(w, repo, kind, name) {
				hits.Add(1)
				answer(rw, r)
				return true
			}
		}
		return false
	})
	return hits
}

// is reports whether a request is for one of the places that hold signatures.
func (s *scene) is(where, repo, kind, name string) bool {
	switch where {
	case atTag:
		return kind == "manifests" && strings.HasSuffix(name, ".sig")
	case atList:
		return kind == "referrers"
	case atFallback:
		return kind == "manifests" && strings.HasPrefix(name, "sha256-") && !strings.HasSuffix(name, ".sig")
	}
	found := false
	s.change(repo, func(r *repository) {
		for at, m := range r.Manifests {
			var read ocispec.Manifest
			if json.Unmarshal(m.Data, &read) != nil || read.Subject == nil && !strings.HasSuffix(at, ".sig") {
				continue
			}
			switch where {
			case atManifest:
				found = found || kind == "manifests" && at == name && digest.Digest(name).Validate() == nil
			case atBlob:
				found = found || kind == "blobs" && slices.ContainsFunc(read.Layers, func(l ocispec.Descriptor) bool { return l.Digest.String() == name })
			}
		}
	})
	return found
}

// TestWorstExitCodeIsReported checks that the exit code is 4 where one thing is not trusted and
// another one could not be fetched, in any order: internal/cli/errors.go.
func TestWorstExitCodeIsReported(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the functions are shell scripts")
	}
	platform := newHand(t)
	const dead = "oci://127.0.0.1:1/fns/label:v1"
	const gone = "oci://HOST/fns/gone:v1"
	for name, c := range map[string]struct {
		run  []string
		code int
	}{
		"signed":                            {verifyKey(label), 0},
		"unsigned":                          {verifyKey(prog), 4},
		"unreachable":                       {verifyKey(dead), 7},
		"signed, then unreachable":          {verifyKey(label, dead), 7},
		"unsigned, then unreachable":        {verifyKey(prog, dead), 4},
		"unreachable, then unsigned":        {verifyKey(dead, prog), 4},
		"missing, then unsigned":            {verifyKey(gone, prog), 4},
		"unreachable, then missing":         {verifyKey(dead, gone), 6},
		"its signatures cannot be seen":     {verifyKey("oci://HOST/blind/label:v1"), 7},
		"and it is not pinned":              {verifyKey("--require-digests", "oci://HOST/blind/label:v1"), 4},
		"one blind, one unsigned":           {verifyKey("oci://HOST/blind/label:v1", prog), 4},
		"a render with one of each":         {nil, 4},
		"a catalog with a runtime of each":  {verifyKey("-r", "oci://HOST/fns/catalog:v1"), 4},
		"a catalog with a blind runtime":    {verifyKey("-r", "oci://HOST/fns/blind:v1"), 7},
		"a catalog with an unsigned script": {verifyKey("-r", "oci://HOST/fns/open:v1"), 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &scene{world: newWorld(t, false), platform: platform}
			s.write("platform.pub", platform.pem)
			s.signedScript()
			s.program("fns/prog", goodProgram, "v1")
			unsigned := s.script("fns/open", goodScript, "script")
			blind := s.script("blind/label", goodScript, "v1")
			s.attach("blind/label", blind, platform.both(blind)...)
			for tag, runtimes := range map[string]map[string]string{
				"catalog": {"Label": "{starlark: 'oci://HOST/blind/label:v1'}", "Prog": "{starlark: 'oci://HOST/fns/open:script'}"},
				"blind":   {"Label": "{starlark: 'oci://HOST/blind/label:v1'}"},
				"open":    {"Label": "{starlark: 'oci://HOST/fns/open:script'}"},
			} {
				d := s.catalog("fns/"+tag, runtimes, "v1")
				s.attach("fns/"+tag, d, platform.both(d)...)
			}
			s.answerBy(func(rw http.ResponseWriter, r *http.Request) bool {
				repo, _, name, _ := regtest.Parts(r.URL.Path)
				if repo != "blind/label" || !strings.HasSuffix(name, ".sig") {
					return false
				}
				status(500)(rw, r)
				return true
			})
			run := c.run
			if run == nil {
				run = s.render("--key", "platform.pub")
				s.write("app/kustomization.yaml", `catalogs: ['oci://HOST/fns/catalog:v1']
resources: [cm.yaml]
transformers:
- {apiVersion: example.com/v1, kind: Label, metadata: {name: label}}
- {apiVersion: example.com/v1, kind: Prog, metadata: {name: prog}}
`)
			}
			o := s.krmcat(run...)
			if o.code != c.code {
				t.Errorf("krmcat %q ends with %s\nwant exit code %d", run, o, c.code)
			}
			if c.run == nil && (!strings.Contains(o.stderr, "blind/label") || !strings.Contains(o.stderr, unsigned.Digest.String()) || o.stdout != "") {
				t.Errorf("want a message about each fault, and no output: %s", o)
			}
		})
	}
}

// TestInterruptedWhileVerifying interrupts krmcat while the registry does not answer a request for
// the bytes of a signature: krmcat prints nothing, and trusts nothing.
func TestInterruptedWhileVerifying(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no interrupt to send")
	}
	s := &scene{world: newWorld(t, false), platform: newHand(t)}
	s.write("platform.pub", s.platform.pem)
	script := s.script("fns/label", goodScript, "v1")
	s.signedCatalog("Label", "{starlark: 'oci://HOST/fns/label:v1"+pin(script)+"'}")
	run := s.render("--key", "platform.pub")
	if o := s.krmcat(run...); o.code != 0 {
		t.Fatal(o)
	}
	arrived, given := make(chan struct{}, 1), make(chan struct{})
	s.disturb([]string{atBlob}, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
		default:
		}
		<-r.Context().Done()
	})
	s.started = func(p *os.Process) {
		go func() {
			defer close(given)
			<-arrived
			_ = p.Signal(os.Interrupt)
		}()
	}
	o := s.krmcat(run...)
	<-given
	if o.code != 130 || o.stdout != "" || !strings.Contains(o.stderr, "interrupted") {
		t.Errorf("it ends with %s", strconv.Quote(o.String()))
	}
}
