package starlark_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// load makes a Runner of a script.
func load(t testing.TB, script string) (fnexec.Runner, error) {
	t.Helper()
	p, err := starlark.New().Prepare(node(t, "placeholder: x\n", true), fnexec.Site{
		Inline: true,
		Config: config(t, script),
	})
	if err != nil {
		return nil, err
	}
	return loadPrepared(t, p, *p.Needs.Literal)
}

func loadPrepared(t testing.TB, p fnexec.Prepared, a registry.Artifact) (fnexec.Runner, error) {
	t.Helper()
	trusted, err := verify.Verify(t.Context(), verify.Subject{Artifact: a, Promised: p.Needs.Promised}, verify.UserFlag{Flag: "--test"})
	if err != nil {
		t.Fatal(err)
	}
	if p.Needs.Beside != nil {
		files, err := p.Needs.Beside(t.Context(), trusted)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			more, err := verify.Verify(t.Context(), verify.Subject{Artifact: f}, verify.UserFlag{Flag: "--test"})
			if err != nil {
				t.Fatal(err)
			}
			trusted = trusted.With(more)
		}
	}
	grant, err := sandbox.Allow{}.Grant(p.Needs.Request)
	if err != nil {
		t.Fatal(err)
	}
	return p.Load(t.Context(), trusted, grant)
}

func config(t testing.TB, script string) *yaml.RNode {
	t.Helper()
	n := node(t, "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nparams:\n  color: blue\n  count: 3\n", false)
	if err := n.PipeE(yaml.SetField("source", yaml.NewStringRNode(script))); err != nil {
		t.Fatal(err)
	}
	return n
}

func node(t testing.TB, s string, null bool) *yaml.RNode {
	t.Helper()
	if null {
		return nil
	}
	n, err := yaml.Parse(s)
	if err != nil {
		t.Fatalf("parsing %q: %v", s, err)
	}
	return n
}

func run(t testing.TB, script string, items ...string) (string, fnexec.Output, error) {
	t.Helper()
	r, err := load(t, script)
	if err != nil {
		t.Fatal(err)
	}
	in := fnexec.Input{Config: config(t, script)}
	for _, i := range items {
		in.Items = append(in.Items, node(t, i, false))
	}
	out, err := fnexec.Call(t.Context(), r, in)
	var docs []string
	for _, i := range out.Items {
		s, serr := i.String()
		if serr != nil {
			t.Fatal(serr)
		}
		docs = append(docs, s)
	}
	return strings.Join(docs, "---\n"), out, err
}

const tricky = `# head
apiVersion: v1
kind: ConfigMap
metadata:
  name: tricky # line
data:
  a: "yes"
  b: 'no'
  c: on
  d: 0x1F
  e: 1e3
  f: "0123"
  g: |
    several
    lines
  h: 2001-01-01
  i: ~
  j: 12345678901234567890123
  k: {x: 1, y: [a, "b"]}
  l: []
`

func TestUntouchedStaysAsItWas(t *testing.T) {
	t.Parallel()
	got, _, err := run(t, `
for r in ctx.resource_list["items"]:
    r["data"]["new"] = "y"
`, tricky)
	if err != nil {
		t.Fatal(err)
	}
	if want := tricky + "  new: \"y\"\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatScriptsDo(t *testing.T) {
	t.Parallel()
	item := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"
	for name, c := range map[string]struct{ script, want string }{
		"params": {
			`ctx.resource_list["items"][0]["data"] = {"c": ctx.resource_list["functionConfig"]["params"]["color"]}`,
			item + "data:\n  c: blue\n",
		},
		"every type": {
			`ctx.resource_list["items"][0]["data"] = {"a": 1, "b": 1.0, "c": True, "d": None, "e": ["x", ("y",)], "f": "1", "g": "a\nb\n", "h": 1 << 80, "i": ""}`,
			item + "data:\n  a: 1\n  b: 1.0\n  c: true\n  d: null\n  e:\n  - x\n  - - \"y\"\n  f: \"1\"\n  g: |\n    a\n    b\n  h: 1208925819614629174706176\n  i: \"\"\n",
		},
		"a resource twice": {
			`i = ctx.resource_list["items"]
i.append(i[0])`,
			item + "---\n" + item,
		},
		"a new list": {`ctx.resource_list["items"] = []`, ""},
		"top level control, set, reassign, recursion, while": {`
def f(n):
    return 1 if n < 2 else n * f(n - 1)
x = 1
x = 2
if x == 2:
    while x < 5:
        x += 1
ctx.resource_list["items"][0]["v"] = "%d %d %d" % (f(5), x, len(set([1, 1])))
`, item + "v: 120 5 1\n"},
		"modules": {`
load("encoding/json.star", "json")
load("math.star", "math")
load("time.star", "time")
load("re.star", "re")
load("hash.star", "hash")
load("encoding/base64.star", "base64")
load("encoding/yaml.star", "yaml")
load("encoding/csv.star", "csv")
ctx.resource_list["items"][0]["v"] = [
    json.encode({"a": [1]}), json.decode("{\"a\": 1}")["a"], math.ceil(1.5),
    str(time.parse_duration("1h")), re.sub("a(.)", "$1", "abac"), re.findall("[0-9]+", "a1b22"),
    re.match("b", "ab"), re.search("b", "ab"), re.compile("x").split("1x2"),
    hash.sha256(""), hash.md5(""), base64.decode(base64.encode("hi")),
    yaml.loads("a: [1, x]")["a"], yaml.dumps({"a": 1}), csv.read_all("a,b\n1,2", skip=1), csv.write_all([["a", "b,c"]]),
]
`, item + `v:
- '{"a":[1]}'
- 1
- 2
- 1h0m0s
- bc
- - "1"
  - "22"
- - - b
- - 1
  - 2
- - "1"
  - "2"
- e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
- d41d8cd98f00b204e9800998ecf8427e
- hi
- - 1
  - x
- |
  a: 1
- - - "1"
    - "2"
- |
  a,"b,c"
`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := run(t, c.script, item)
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	item := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"
	for name, c := range map[string]struct{ script, want string }{
		"fail":                      {"\n  \nfail(\"no \" + \"way\")", "functionConfig.star:3:5: fail: no way"},
		"cycle":                     {`x = ctx.resource_list["items"]` + "\nx[0][\"x\"] = x[0]", "contains itself"},
		"deep item":                 {"x = []\nfor i in range(300):\n    x = [x]\n" + `ctx.resource_list["items"][0]["x"] = x`, "items[0]: it is nested more than 200 deep"},
		"function value":            {`ctx.resource_list["items"][0]["x"] = len`, "cannot be written as YAML"},
		"not a dict":                {`ctx.resource_list["items"].append(1)`, "items[1] is of type int"},
		"items is a string":         {`ctx.resource_list["items"] = "abc"`, "not a list"},
		"no kind":                   {`ctx.resource_list["items"].append({})`, "has no kind"},
		"inf":                       {`ctx.resource_list["items"][0]["x"] = float("inf")`, "finite"},
		"clock":                     {"load(\"time.star\", \"time\")\ntime.now()", "no clock"},
		"deeply nested JSON":        {"load(\"json\", \"json\")\njson.decode(\"[\" * 1000000)", "deep"},
		"recursion":                 {"def f():\n    f()\nf()", "called itself"},
		"huge range":                {"list(range(1000000000000))", "more than"},
		"doubling of a shared list": {"x = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\nfor i in range(9):\n    x = [x, x, x, x, x, x, x, x, x, x]\nctx.resource_list[\"items\"][0][\"x\"] = x", "more than"},
		"deeply nested YAML":        {"load(\"yaml\", \"yaml\")\nyaml.loads(\"[\" * 5000 + \"]\" * 5000)", "deep"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := run(t, c.script, item)
			var fe *fnexec.FunctionError
			if !errors.As(err, &fe) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a FunctionError with %q", err, c.want)
			}
		})
	}
}

func TestResultsSurviveFail(t *testing.T) {
	t.Parallel()
	_, out, err := run(t, `
print("hello")
log("there", 1)
ctx.resource_list["results"].append({"message": "too old", "severity": "warn"})
fail("stop")
`)
	if err == nil || out.Exit != 1 || len(out.Results) != 1 || out.Results[0].Severity != fnexec.SeverityWarning {
		t.Errorf("got %+v, %v", out, err)
	}
	if !strings.HasPrefix(out.Stderr, "hello\nthere 1\n") {
		t.Errorf("stderr is %q", out.Stderr)
	}
}

func TestDoesNotCompile(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"x = (":                     "functionConfig.star:1:6",
		"\nundefined1\nundefined2":  "functionConfig.star:3:1",
		`load("./missing", "x")`:    "no such module",
		`load("../../etc/x", "x")`:  "no such module",
		`load("http.star", "http")`: "no module http",
	} {
		if _, err := load(t, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", script, err, want)
		}
	}
}

func TestEndlessLoopEndsWithContext(t *testing.T) {
	t.Parallel()
	r, err := load(t, "while True:\n    pass\n")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := fnexec.Call(ctx, r, fnexec.Input{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	var timeout *fnexec.TimeoutError
	_, err = fnexec.Call(t.Context(), r, fnexec.Input{Limits: sandbox.Limits{Timeout: time.Millisecond}})
	if !errors.As(err, &timeout) {
		t.Errorf("got %v", err)
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	ref := "oci://example.com/fn:v1"
	for spec, want := range map[string]string{
		ref: ref,
		"{uri: '" + ref + "', sha256: " + sum + "}": ref,
		"{oci: '" + ref + "'}":                      ref,
		"{path: fn.star}":                           "/catalogs/fn.star",
	} {
		p, err := starlark.New().Prepare(node(t, spec, false), fnexec.Site{Dir: "/catalogs"})
		if err != nil {
			t.Errorf("%s: %v", spec, err)
			continue
		}
		if got := p.Needs.From.String(); got != want {
			t.Errorf("%s: got %s, want %s", spec, got, want)
		}
	}
	for spec, want := range map[string]string{
		"{pth: x}":                "did you mean \"path\"?",
		"{path: fn.star}":         "a place on this machine",
		"{path: a, uri: b}":       "more than one place",
		"{source: 'x = 1'}":       "only a functionConfig",
		"{uri: x, sha256: abc}":   "not a sha256",
		"[a]":                     "must be a mapping",
		"{}":                      "names no script",
		"{uri: 'gopher://a/b'}":   "scheme",
		"{uri: {a: b}}":           "must be a string",
		"{path: x, envs: [HOME]}": "only a functionConfig",
	} {
		_, err := starlark.New().Prepare(node(t, spec, false), fnexec.Site{})
		var se *fnexec.SpecError
		if !errors.As(err, &se) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", spec, err, want)
		}
	}
}

func TestConfigMapSource(t *testing.T) {
	t.Parallel()
	c := node(t, "apiVersion: v1\nkind: ConfigMap\ndata:\n  source: |\n    print(1)\n", false)
	p, err := starlark.New().Prepare(node(t, "{}", false), fnexec.Site{Config: c})
	if err != nil || p.Needs.Literal == nil {
		t.Fatalf("got %+v, %v", p.Needs, err)
	}
}

func TestZeroKeysOpenNothing(t *testing.T) {
	t.Parallel()
	p, err := starlark.New().Prepare(node(t, "oci://example.com/fn", false), fnexec.Site{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Load(t.Context(), verify.Trusted{}, sandbox.Grant{}); !errors.Is(err, verify.ErrNotVerified) {
		t.Errorf("got %v", err)
	}
	trusted, err := verify.Verify(t.Context(), verify.Subject{Artifact: registry.Literal(p.Needs.From, mediatypes.RoleStarlark, "a", nil)}, verify.UserFlag{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Load(t.Context(), trusted, sandbox.Grant{}); !errors.Is(err, sandbox.ErrNotGranted) {
		t.Errorf("got %v", err)
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	data := []byte("x = 1\n")
	resolve := func(_ context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
		a := registry.Literal(l, w.Role, "fn.star", data)
		a.Root = ocispec.Descriptor{Digest: "sha256:" + a.Root.Digest[7:]}
		return a, nil
	}
	n := node(t, "oci://example.com/fn:v1", false)
	if err := starlark.New().Pin(t.Context(), n, fnexec.Site{}, resolve); err != nil {
		t.Fatal(err)
	}
	got, _ := n.String()
	if !strings.Contains(got, "uri: oci://example.com/fn:v1@sha256:") || !strings.Contains(got, "\nsha256: ") {
		t.Errorf("got %s", got)
	}
	if err := starlark.New().Pin(t.Context(), n, fnexec.Site{}, resolve); err != nil {
		t.Errorf("pinning again: %v", err)
	}
	bad := node(t, "{uri: 'oci://example.com/fn', sha256: "+strings.Repeat("00", 32)+"}", false)
	if err := starlark.New().Pin(t.Context(), bad, fnexec.Site{}, resolve); err == nil {
		t.Error("a sha256 that does not fit was accepted")
	}
}

// BenchmarkTwoHundred sets a label on a hundred resources, two hundred times.
func BenchmarkTwoHundred(b *testing.B) {
	r, err := load(b, "for r in ctx.resource_list[\"items\"]:\n    r[\"metadata\"][\"labels\"][\"a\"] = \"b\"\n")
	if err != nil {
		b.Fatal(err)
	}
	var items []*yaml.RNode
	for i := range 100 {
		items = append(items, node(b, fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-%d\n  labels:\n    app: a\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      - name: main\n        image: example.com/app:1\n        ports:\n        - containerPort: 80\n", i), false))
	}
	for b.Loop() {
		for range 200 {
			out, err := fnexec.Call(b.Context(), r, fnexec.Input{Items: items})
			if err != nil {
				b.Fatal(err)
			}
			items = out.Items
		}
	}
}

// BenchmarkFive runs five functions over a thousand resources, which set a label or change
// nothing.
func BenchmarkFive(b *testing.B) {
	for name, script := range map[string]string{
		"label":   "key = ctx.resource_list[\"functionConfig\"][\"params\"][\"color\"]\nfor r in ctx.resource_list[\"items\"]:\n    r[\"metadata\"][\"labels\"][key] = \"b\"\n",
		"nothing": "for r in ctx.resource_list[\"items\"]:\n    if r[\"kind\"] == \"Nothing\":\n        r[\"x\"] = 1\n",
	} {
		b.Run(name, func(b *testing.B) {
			r, err := load(b, script)
			if err != nil {
				b.Fatal(err)
			}
			var items []*yaml.RNode
			for i := range 1000 {
				items = append(items, node(b, fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-%d\n  namespace: shop\n  labels:\n    app: a\nspec:\n  replicas: 3\n  selector:\n    matchLabels:\n      app: app\n  template:\n    metadata:\n      labels:\n        app: app\n    spec:\n      containers:\n      - name: main\n        image: example.com/app:1\n        env:\n        - name: A\n          value: \"1\"\n        ports:\n        - containerPort: 80\n          name: http\n        resources:\n          limits:\n            cpu: 100m\n            memory: 128Mi\n          requests:\n            cpu: 10m\n            memory: 64Mi\n", i), false))
			}
			b.ReportAllocs()
			for b.Loop() {
				for range 5 {
					out, err := fnexec.Call(b.Context(), r, fnexec.Input{Items: items, Config: config(b, script)})
					if err != nil {
						b.Fatal(err)
					}
					items = out.Items
				}
			}
		})
	}
}
