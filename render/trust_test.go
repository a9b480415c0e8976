package render_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// mark is a function that writes its name to every resource.
func mark(name string) string {
	return "#!/bin/sh\nsed 's/^\\( *\\)name: one$/&\\n\\1labels: {by: " + name + "}/'\n"
}

func hash(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// catalogOf returns a catalog with one function, whose program is in the same directory.
func catalogOf(kind, script, sum string) string {
	return fmt.Sprintf(`apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: c}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: %s}
    description: marks
    versions:
    - name: v1
      runtime:
        exec: {path: ./%s, sha256: %s}
`, kind, script, sum)
}

// trustCase is a target with two catalogs on disk, a.yaml and b.yaml, which both have Fn. Only
// b.yaml has Other.
type trustCase struct {
	name     string
	catalogs string // of the kustomization
	kind     string
	flags    []string
	policy   verify.Policy
	want     string // the mark, where it works
	fail     []string
	warn     string
}

func trustFiles(catalogs, kind string) string {
	a, b := mark("a"), mark("b")
	other := strings.SplitAfter(catalogOf("Other", "b.sh", hash(b)), "krmFunctions:\n")[1]
	return "-- app/kustomization.yaml --\n" + catalogs + "resources: [cm.yaml]\ntransformers: [t.yaml]\n" +
		"-- app/cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n" +
		"-- app/t.yaml --\napiVersion: example.com/v1\nkind: " + kind + "\n" +
		"-- app/a.yaml --\n" + catalogOf("Fn", "a.sh", hash(a)) + "-- app/a.sh --\n" + a +
		"-- app/b.yaml --\n" + catalogOf("Fn", "b.sh", hash(b)) + other + "-- app/b.sh --\n" + b +
		"-- app/bad.yaml --\n" + catalogOf("Fn", "a.sh", hash(b)) +
		"-- app/nosum.yaml --\n" + strings.ReplaceAll(catalogOf("Fn", "a.sh", "X"), ", sha256: X", "") +
		"-- app/broken.yaml --\nkind: Catalog\n"
}

func trustCases() []trustCase {
	pin := "@" + digest.FromString(catalogOf("Fn", "a.sh", hash(mark("a")))).String()
	wrong := "@" + digest.FromString("something else").String()
	strict := verify.Policy{RequireDigests: true}
	return []trustCase{
		{name: "declared and trusted", catalogs: "catalogs: [a.yaml]\n", flags: []string{"app/a.yaml"}, want: "a"},
		{name: "trusted by the very string", catalogs: "catalogs: [a.yaml]\n", flags: []string{"a.yaml"}, want: "a"},
		{name: "trusted by another spelling", catalogs: "catalogs: [./a.yaml]\n", flags: []string{"app/../app/a.yaml"}, want: "a"},
		{name: "order of the list", catalogs: "catalogs: [b.yaml, a.yaml]\n", flags: []string{"a.yaml", "b.yaml"}, want: "b"},
		{name: "second catalog has it", catalogs: "catalogs: [a.yaml, b.yaml]\n", kind: "Other", flags: []string{"a.yaml", "b.yaml"}, want: "b"},
		{name: "only the flag names it", flags: []string{"app/b.yaml"}, want: "b"},
		{name: "flag only comes last", catalogs: "catalogs: [b.yaml]\n", flags: []string{"app/a.yaml", "b.yaml"}, want: "b"},
		{name: "not trusted", catalogs: "catalogs: [a.yaml]\n", fail: []string{"example.com/v1/Fn", "the catalog a.yaml (", "is not trusted"}},
		{name: "found behind an untrusted one", catalogs: "catalogs: [a.yaml, b.yaml]\n", flags: []string{"b.yaml"}, want: "b", warn: "behind a declared catalog that is not trusted and might have had it: a.yaml"},
		{name: "in front of an untrusted one", catalogs: "catalogs: [b.yaml, a.yaml]\n", flags: []string{"b.yaml"}, want: "b"},
		{name: "behind, with digests required", catalogs: "catalogs: [b.yaml, a.yaml]\n", flags: []string{"app/a.yaml" + pin}, policy: strict, fail: []string{"the catalog b.yaml ("}},
		{name: "pinned by the flag", catalogs: "catalogs: [a.yaml]\n", flags: []string{"app/a.yaml" + pin}, policy: strict, want: "a"},
		{name: "pinned by the declaration", catalogs: "catalogs: [a.yaml" + pin + "]\n", flags: []string{"app/a.yaml"}, policy: strict, want: "a"},
		{name: "pinned to something else", catalogs: "catalogs: [a.yaml]\n", flags: []string{"app/a.yaml" + wrong}, fail: []string{"a.yaml" + wrong}},
		{name: "the declaration chooses another version", catalogs: "catalogs: [a.yaml" + wrong + "]\n", flags: []string{"app/a.yaml"}, fail: []string{"trusts the current version", wrong}},
		{name: "the very string, pinned", catalogs: "catalogs: [a.yaml" + pin + "]\n", flags: []string{"a.yaml" + pin}, policy: strict, want: "a"},
		{name: "a pinned flag is preferred", catalogs: "catalogs: [a.yaml]\n", flags: []string{"app/a.yaml", "app/a.yaml" + pin}, policy: strict, want: "a"},
		{name: "a pinned flag is preferred to the very string", catalogs: "catalogs: [a.yaml]\n", flags: []string{"a.yaml", "app/a.yaml" + wrong}, fail: []string{"a.yaml" + wrong}},
		{name: "one digest under two tags", catalogs: "catalogs: [a.yaml" + pin + "]\n", flags: []string{"./app/a.yaml" + pin}, policy: strict, want: "a"},
		{name: "two pins", catalogs: "catalogs: [a.yaml" + wrong + "]\n", flags: []string{"app/a.yaml" + pin}, want: "a", warn: "might have had it"},
		{name: "digests required and none given", catalogs: "catalogs: [a.yaml]\n", flags: []string{"a.yaml"}, policy: strict, fail: []string{"neither a sha256 nor a digest"}},
		{name: "sha256 does not fit", catalogs: "catalogs: [bad.yaml]\n", flags: []string{"bad.yaml"}, fail: []string{"is not trusted: the catalog promises sha256 " + hash(mark("b")), hash(mark("a"))}},
		{name: "exec without sha256", catalogs: "catalogs: [nosum.yaml]\n", flags: []string{"nosum.yaml"}, fail: []string{"is not trusted", "neither a sha256 nor a digest"}},
		{name: "broken catalog", catalogs: "catalogs: [broken.yaml]\n", flags: []string{"broken.yaml"}, fail: []string{"broken.yaml:1"}},
		{name: "broken but not reached", catalogs: "catalogs: [a.yaml, broken.yaml]\n", flags: []string{"a.yaml", "broken.yaml"}, want: "a"},
		{name: "in no catalog", catalogs: "catalogs: [a.yaml]\n", kind: "Nowhere", flags: []string{"a.yaml"}, fail: []string{"example.com/v1/Nowhere", "a.yaml"}},
		{name: "no catalog at all", fail: []string{"example.com/v1/Fn"}},
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	for _, c := range trustCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.kind == "" {
				c.kind = "Fn"
			}
			dir := unpack(t, trustFiles(c.catalogs, c.kind))
			o := optionsFor(t, filepath.Join(dir, "app"))
			o.WorkDir, o.Trusted, o.Policy = dir, c.flags, c.policy
			o.EnableAlphaPlugins, o.EnableExec = false, false // catalogs need neither
			var mu sync.Mutex
			var warnings []string
			r := newRenderer(t)
			r.Notify = func(e render.Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Warning {
					warnings = append(warnings, e.Text)
				}
			}
			out, err := r.Render(context.Background(), o)
			for _, part := range c.fail {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("want an error with %q, got %v", part, err)
				}
			}
			if len(c.fail) > 0 {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := out.Items[0].GetLabels()["by"]; got != c.want {
				t.Errorf("run by %q, want %q", got, c.want)
			}
			if found := slices.ContainsFunc(warnings, func(w string) bool { return strings.Contains(w, c.warn) }); c.warn != "" && !found {
				t.Errorf("want a warning with %q, got %q", c.warn, warnings)
			}
		})
	}
}

// TestOtherLayersCatalog checks that a layer uses only its own catalogs, and that the error says
// where the trusted one is declared.
func TestOtherLayersCatalog(t *testing.T) {
	t.Parallel()
	dir := unpack(t, trustFiles("catalogs: [a.yaml]\n", "Fn")+"-- over/kustomization.yaml --\nresources: [../app]\ntransformers: [{apiVersion: example.com/v1, kind: Fn}]\n")
	o := optionsFor(t, filepath.Join(dir, "over"))
	o.WorkDir, o.Trusted = dir, []string{"app/a.yaml"}
	_, err := newRenderer(t).Render(context.Background(), o)
	if err == nil || !strings.Contains(err.Error(), "the catalog a.yaml is trusted but declared in another layer (") {
		t.Error(err)
	}
}

// TestTypedErrors checks the types of errors.
func TestTypedErrors(t *testing.T) {
	t.Parallel()
	dir := unpack(t, trustFiles("catalogs: [a.yaml]\n", "Fn"))
	o := optionsFor(t, filepath.Join(dir, "app"))
	_, err := newRenderer(t).Render(context.Background(), o)
	var untrusted *verify.UntrustedError
	if !errors.As(err, &untrusted) || untrusted.Flag != "--trusted-catalog a.yaml" {
		t.Errorf("no flag in %v", err)
	}
	var missing *catalog.NotFoundError
	if !errors.As(err, &missing) || missing.Query.Config.Kind != "Fn" {
		t.Errorf("no function in %v", err)
	}
	var step *render.StepError
	if !errors.As(err, &step) || !strings.HasSuffix(step.Where, "app/t.yaml:1") || step.Name != "Fn fn" {
		t.Errorf("no place in %v", err)
	}
}

// TestEveryRefusalAtOnce renders a target with three functions that are refused for different
// reasons.
func TestEveryRefusalAtOnce(t *testing.T) {
	t.Parallel()
	dir := unpack(t, `-- kustomization.yaml --
catalogs: [c.yaml]
resources: [cm.yaml]
transformers:
- apiVersion: example.com/v1
  kind: Inline
  runtime: {exec: {path: ./f.sh}}
- apiVersion: example.com/v1
  kind: Net
- apiVersion: example.com/v1
  kind: Unpinned
`+cm+`-- f.sh --
#!/bin/sh
touch ran
-- c.yaml --
apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
spec:
  krmFunctions:
  - group: example.com
    names: {kind: Net}
    versions:
    - name: v1
      runtime: {exec: {path: f.sh, sha256: `+hash("#!/bin/sh\ntouch ran\n")+`, requireNetwork: true, requireStorageMount: true}}
  - group: example.com
    names: {kind: Unpinned}
    versions:
    - name: v1
      runtime: {exec: {path: f.sh}}
`)
	o := optionsFor(t, dir)
	o.EnableAlphaPlugins, o.EnableExec, o.Trusted = false, false, []string{"c.yaml"}
	_, err := newRenderer(t).Render(context.Background(), o)
	if err == nil {
		t.Fatal("it was rendered")
	}
	for _, part := range []string{
		"--enable-alpha-plugins", "--enable-exec", "--network", "--mount", "neither a sha256 nor a digest",
		"kustomization.yaml:4: Inline inline", "kustomization.yaml:7: Net net", "kustomization.yaml:9: Unpinned unpinned",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in: %v", part, err)
		}
	}
	var denied *sandbox.DeniedError
	var untrusted *verify.UntrustedError
	if !errors.As(err, &denied) || !errors.As(err, &untrusted) {
		t.Errorf("not both kinds of refusal: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("a function ran")
	}
}

// TestOneResolvePerReference moves a tag between the phases, and checks that the verified content
// runs.
func TestOneResolvePerReference(t *testing.T) {
	t.Parallel()
	dir := unpack(t, trustFiles("catalogs: [a.yaml]\n", "Fn"))
	o := optionsFor(t, filepath.Join(dir, "app"))
	o.WorkDir, o.Trusted = dir, []string{"a.yaml"}
	r := newRenderer(t)
	inner := r.Resolve
	asked := map[string]int{}
	var mu sync.Mutex
	r.Resolve = func(ctx context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
		mu.Lock()
		asked[l.String()]++
		mu.Unlock()
		a, err := inner(ctx, l, w)
		// Somebody changes the file directly after it was resolved.
		if strings.HasSuffix(l.Name, "a.sh") {
			if err := filetest.WriteProgram(l.Name, []byte(mark("evil"))); err != nil {
				return a, err
			}
		}
		return a, err
	}
	out, err := r.Render(context.Background(), o)
	if err == nil {
		if got := out.Items[0].GetLabels()["by"]; got != "a" {
			t.Errorf("run by %q", got)
		}
	} else if !errors.As(err, new(*registry.DigestError)) {
		t.Errorf("neither the verified bytes nor a digest error: %v", err)
	}
	for ref, n := range asked {
		if n != 1 {
			t.Errorf("%s was resolved %d times", ref, n)
		}
	}
}

// TestDigestsRequiredOfInlineFunctions checks that the flags for explicit runtimes do not replace a
// digest.
func TestDigestsRequiredOfInlineFunctions(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "-- kustomization.yaml --\nresources: [cm.yaml]\ntransformers:\n- {apiVersion: x/v1, kind: Fn, runtime: {exec: {path: ./f.sh}}}\n"+cm+
		"-- f.sh --\n#!/bin/sh\ncat\n")
	o := optionsFor(t, dir)
	if _, err := newRenderer(t).Render(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	o.Policy.RequireDigests = true
	_, err := newRenderer(t).Render(context.Background(), o)
	if !errors.As(err, new(*verify.UntrustedError)) {
		t.Errorf("want it to be untrusted, got %v", err)
	}
}

// TestScriptAllowedByCatalog checks that the evidence for a script in a functionConfig names the
// catalog that permits it, not a flag that was not given.
func TestScriptAllowedByCatalog(t *testing.T) {
	t.Parallel()
	dir := unpack(t, `-- kustomization.yaml --
catalogs: [c.yaml]
resources: [cm.yaml]
transformers: [t.yaml]
`+cm+`-- t.yaml --
apiVersion: fn.kpt.dev/v1
kind: ConfigMap
data:
  source: |
    for r in ctx.resource_list["items"]: r["metadata"]["labels"] = {"by": "script"}
-- c.yaml --
apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
spec:
  krmFunctions:
  - group: fn.kpt.dev
    names: {kind: ConfigMap}
    versions:
    - name: v1
      runtime: {starlark: {}}
`)
	o := optionsFor(t, dir)
	o.EnableAlphaPlugins, o.EnableExec, o.Trusted = false, false, []string{"c.yaml"}
	p, err := newRenderer(t).Plan(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Steps[0].Evidence[0]; e.Method != "named" || strings.Contains(e.Detail, "flag") || e.Warning == "" {
		t.Errorf("%+v", e)
	}
	o.Policy.RequireDigests = true
	if _, err := newRenderer(t).Plan(context.Background(), o); !errors.As(err, new(*verify.UntrustedError)) {
		t.Errorf("digests are required, and none is given: %v", err)
	}
}

// TestOtherFilesAreNotCovered checks that a sha256 covers one file only.
func TestOtherFilesAreNotCovered(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "-- kustomization.yaml --\ncatalogs: [c.yaml]\nresources: [cm.yaml]\ntransformers: [{apiVersion: example.com/v1, kind: Fn}]\n"+cm)
	client, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	main := "load(\"lib.star\", \"mark\")\nmark(ctx)\n"
	lib := "def mark(ctx):\n    for r in ctx.resource_list[\"items\"]: r[\"metadata\"][\"labels\"] = {\"by\": \"script\"}\n"
	place := reference.Locator{Scheme: reference.SchemeLayout, Name: filepath.Join(dir, "store"), Tag: "v1"}
	a, err := client.Push(t.Context(), place, registry.Bundle{Role: mediatypes.RoleStarlark, Files: []registry.File{
		{Title: "main.star", Data: []byte(main)}, {Title: "lib.star", Data: []byte(lib)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		spec string
		ok   bool
	}{
		{`{uri: "oci-layout://store:v1", sha256: ` + hash(main) + `}`, false},
		{`{uri: "oci-layout://store:v1@` + a.Root.Digest.String() + `", sha256: ` + hash(main) + `}`, true},
		{`"oci-layout://store:v1"`, true},
	} {
		text := strings.Replace(catalogOf("Fn", "x", "y"), "exec: {path: ./x, sha256: y}", "starlark: "+c.spec, 1)
		if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		o := optionsFor(t, dir)
		o.Trusted = []string{"c.yaml"}
		_, err := newRenderer(t).Render(context.Background(), o)
		if (err == nil) != c.ok || !c.ok && !errors.As(err, new(*verify.UntrustedError)) {
			t.Errorf("%s: %v", c.spec, err)
		}
	}
}

// TestFirstRuntimeThatWorksHere skips runtimes for another platform and unknown ones.
func TestFirstRuntimeThatWorksHere(t *testing.T) {
	t.Parallel()
	f := mark("exec")
	dir := unpack(t, "-- kustomization.yaml --\ncatalogs: [c.yaml]\nresources: [cm.yaml]\ntransformers: [{apiVersion: example.com/v1, kind: Fn}]\n"+
		strings.Replace(cm, "{name: one}", "\n  name: one", 1)+"-- f.sh --\n"+f)
	here := "{path: f.sh, sha256: " + hash(f) + "}"
	for _, c := range []struct{ runtime, warn string }{
		{"{container: {image: example.com/f:v1}, exec: " + here + "}", "nothing on this machine runs container images"},
		{"{wasm: x, exec: " + here + "}", "there is no runtime"},
		{"{exec: {platforms: [{bin: f, os: plan9, arch: arm, uri: f.sh, sha256: " + hash(f) + "}]}, starlark: {path: f.star}}", "is not offered for"},
	} {
		text := strings.Replace(catalogOf("Fn", "x", "y"), "\n        exec: {path: ./x, sha256: y}", " "+c.runtime, 1)
		if err := os.WriteFile(filepath.Join(dir, "c.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		star := []byte("for r in ctx.resource_list[\"items\"]: r[\"metadata\"][\"labels\"] = {\"by\": \"exec\"}\n")
		if err := os.WriteFile(filepath.Join(dir, "f.star"), star, 0o644); err != nil {
			t.Fatal(err)
		}
		o := optionsFor(t, dir)
		o.Trusted = []string{"c.yaml"}
		p, err := newRenderer(t).Plan(context.Background(), o)
		if err != nil {
			t.Errorf("%s: %v", c.runtime, err)
			continue
		}
		if w := strings.Join(p.Steps[0].Warnings, " "); !strings.Contains(w, c.warn) {
			t.Errorf("%s: passed over without a word: %q", c.runtime, w)
		}
		out, err := newRenderer(t).Render(context.Background(), o)
		if err != nil || out.Items[0].GetLabels()["by"] != "exec" {
			t.Errorf("%s: %v", c.runtime, err)
		}
	}
}

// TestCatalogFromElsewhere checks that a remote catalog cannot refer to places that only this
// machine can reach.
func TestCatalogFromElsewhere(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "-- kustomization.yaml --\nresources: [cm.yaml]\ntransformers: [{apiVersion: example.com/v1, kind: Fn}]\n"+cm)
	for place, refused := range map[string]bool{
		"oci://localhost:5000/x:v1": true, "http://127.0.0.1:2375/x": true, "https://169.254.169.254/x": true,
		"https://[64:ff9b::a9fe:a9fe]/x": true, "oci://[2002:7f00:1::]/x:v1": true, "https://metadata.google.internal/x": true, "https://0251.0376.0251.0376/x": true,
		"file:///etc/passwd": true, "oci-layout:///var/lib/x:v1": true, "x.star": true, "oci://registry.example.com/x:v1": false,
	} {
		text := strings.Replace(catalogOf("Fn", "x", "y"), "exec: {path: ./x, sha256: y}", "starlark: '"+place+"'", 1)
		r := newRenderer(t)
		r.Resolve = func(_ context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
			if w.Role == mediatypes.RoleCatalog {
				return registry.Literal(l, w.Role, "catalog.yaml", []byte(text)), nil
			}
			if refused {
				t.Errorf("%s was asked for", l)
			}
			return registry.Literal(l, w.Role, "x.star", []byte("x = 1\n")), nil
		}
		o := optionsFor(t, dir)
		o.Trusted = []string{"oci://registry.example.com/c:v1"}
		if _, err := r.Render(context.Background(), o); (err != nil) != refused {
			t.Errorf("%s: %v", place, err)
		}
	}
}

// TestFailureKeepsResults runs a function with results, then one with results that fails.
func TestFailureKeepsResults(t *testing.T) {
	t.Parallel()
	say := func(severity string, code int) string {
		return fmt.Sprintf("#!/bin/sh\ncat\necho 'results:'\necho '- {message: said by a function, severity: %s}'\necho oh >&2\nexit %d\n", severity, code)
	}
	fn := func(name string) string {
		return "apiVersion: example.com/v1\nkind: Say\nmetadata:\n  name: " + name + "\n  annotations:\n    config.kubernetes.io/function: 'exec: {path: ./" + name + ".sh}'\n"
	}
	dir := unpack(t, "-- kustomization.yaml --\nresources: [cm.yaml]\ntransformers: [w.yaml, e.yaml]\n"+cm+
		"-- w.yaml --\n"+fn("warns")+"-- e.yaml --\n"+fn("fails")+"-- warns.sh --\n"+say("warning", 0)+"-- fails.sh --\n"+say("error", 3))
	out, err := newRenderer(t).Render(context.Background(), optionsFor(t, dir))
	var failed *fnexec.FunctionError
	if !errors.As(err, &failed) || failed.Exit != 3 || !strings.Contains(failed.Stderr, "oh") {
		t.Fatalf("want the function's failure, got %v", err)
	}
	if len(out.Records) != 2 || len(out.Records[0].Output.Results) != 1 || len(out.Records[1].Output.Results) != 1 {
		t.Errorf("results are lost: %+v", out.Records)
	}
}

func TestPlanRunsNothing(t *testing.T) {
	t.Parallel()
	dir := unpack(t, strings.ReplaceAll(trustFiles("catalogs: [a.yaml]\n", "Fn"), mark("a"), "#!/bin/sh\ntouch ran\n"))
	o := optionsFor(t, filepath.Join(dir, "app"))
	o.WorkDir, o.Trusted = dir, []string{"a.yaml"}
	r := newRenderer(t)
	if _, err := r.Plan(context.Background(), o); err == nil {
		t.Error("the plan is blind to a sha256 that does not fit")
	}
	dir = unpack(t, trustFiles("catalogs: [a.yaml]\n", "Fn"))
	o.Dir, o.WorkDir = filepath.Join(dir, "app"), dir
	p, err := r.Plan(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) != 1 || len(p.Catalogs) != 1 {
		t.Fatalf("%+v", p)
	}
	s := p.Steps[0]
	if s.Function != "example.com/v1/Fn" || s.Runtime != "exec" || s.Digest != digest.FromString(mark("a")).String() ||
		len(s.Evidence) != 1 || s.Evidence[0].Method != "pinned" || s.Grant.Confined || !s.Grant.Process {
		t.Errorf("%+v", s)
	}
}
