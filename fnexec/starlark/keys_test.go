package starlark_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// TestDeepKeys checks that each way to hash a tuple refuses one that would exhaust the stack, or
// that is so wide that the step would not end.
func TestDeepKeys(t *testing.T) {
	t.Parallel()
	const prelude = `
deep = ()
for i in range(1000):
    deep = (deep,)
wide = ()
for i in range(60):
    wide = (wide, wide)
d = {}
s = set()
def key(*args):
    return args[0]
`
	for _, use := range []string{
		"{KEY: 1}", "{1: 2, KEY: 1}", "{x: 1 for x in [KEY]}", "d[KEY]", "KEY in d", "KEY not in d", "KEY in s", "set([KEY])",
		"dict([(KEY, 1)])", "dict([[KEY, 1]])", "d.get(KEY)", "d.get(KEY, 1)", "d.get(*[KEY])", "d.pop(KEY, 1)", "d.setdefault(KEY, 1)",
		"d.update([(KEY, 1)])", "s.add(KEY)", "s.discard(KEY)", "s.remove(KEY)", "s.union([KEY])", "s.update([KEY])",
		"s.difference([KEY])", "s.intersection([KEY])", "s.issubset([KEY])", "s.issuperset([KEY])", "s.symmetric_difference([KEY])",
		"getattr(d, \"get\")(KEY)", "[f(KEY) for f in [d.get]]", "(d.get)(KEY)", "(lambda f: f(KEY))(s.add)", "{(1, KEY): 1}", "d[key(KEY)]",
	} {
		for _, name := range []string{"deep", "wide"} {
			_, _, err := run(t, prelude+strings.ReplaceAll(use, "KEY", name))
			if err == nil || !strings.Contains(err.Error(), "a key is a tuple") {
				t.Errorf("%s of the %s tuple: got %v", use, name, err)
			}
		}
	}
	// The error for a missing key would print gigabytes.
	_, _, err := run(t, "{}[(\"a\" * 1000000,) * 100000]")
	if err == nil || !strings.Contains(err.Error(), "a key is a tuple that is too large") {
		t.Errorf("the long tuple: got %.100v", err)
	}
	for _, statement := range []string{"d[KEY] = 1", "d[1] = 1\nd[KEY] += 1", "for d[KEY] in [1]:\n    pass", "d[KEY], x = 1, 2"} {
		_, _, err := run(t, prelude+strings.ReplaceAll(statement, "KEY", "deep"))
		if err == nil || !strings.Contains(err.Error(), "a key is a tuple") {
			t.Errorf("%s: got %v", statement, err)
		}
	}
}

// TestKeysAreAsBefore checks that guarded keys have their usual results.
func TestKeysAreAsBefore(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, `
def same(got, want):
    if got != want:
        fail("got %r, want %r" % (got, want))

pair = ("a", (1, 2))
one = 1
d = {pair: 1, "x": 2}
same(d[pair], 1)
d[pair] += 1
same(d.get(pair), 2)
same(d.get("y", one), 1)
same(d.get("y"), None)
same(d.setdefault(pair, 9), 2)
same(pair in d and "y" not in d, True)
same(d.pop(pair), 2)
d.update([(pair, 5)], z = 6)
d.update({"y": 7})
same(d, {"x": 2, pair: 5, "z": 6, "y": 7})
same(dict([(pair, 1), ["b", 2]], c = 3), {pair: 1, "b": 2, "c": 3})
same(dict({"a": 1}), {"a": 1})
same(dict(), {})
same({k: v for k, v in d.items() if k == pair}, {pair: 5})
s = set([pair, 1])
s.add(pair)
s.discard(one)
same(len(s), 1)
s.update([2], [3])
s.remove(3)
same(sorted(s.union([4]).difference([pair])), [2, 4])
same(s.issuperset([pair]), True)
x = [1, 2, 3]
same(x[one], 2)
same(x[-1], 3)
same(x[one + 1], 3)
same(x.pop(one), 2)
x.remove(one)
same(x, [3])
same("abc"[one], "b")
same(type(d.get), "builtin_function_or_method")
same(str(d.get), str({}.get))
same([f("x") for f in [d.get]], [2])
same(getattr(d, "get")("x"), 2)
`)
	if err != nil {
		t.Error(err)
	}
	for script, want := range map[string]string{
		"{}[[]]":                   "unhashable",
		"{}.get()":                 "get: got 0 arguments, want at least 1",
		"x = []\nset([x])":         "unhashable",
		"dict([1])":                "not iterable",
		"dict([()])":               "has length 0",
		"set(1)":                   "set: for parameter 1: got int, want iterable",
		"y = \"b\"\n{\"a\": 1}[y]": "key \"b\" not in dict",
	} {
		r, err := load(t, script)
		if err == nil {
			_, err = fnexec.Call(t.Context(), r, fnexec.Input{})
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", script, err, want)
		}
	}
}

// TestDeepKeptValues checks that a loaded file is refused if freezing what its functions keep
// would exhaust the stack.
func TestDeepKeptValues(t *testing.T) {
	t.Parallel()
	for name, def := range map[string]string{
		"default":  "def f(a, b = deep()):\n    pass\n",
		"variable": "def g(x):\n    return lambda: x\nf = g(deep())\n",
		"receiver": "f = deep().append\n",
	} {
		dir := t.TempDir()
		text := "def deep():\n    x = []\n    for i in range(100000):\n        x = [x]\n    return x\n" + def
		if err := os.WriteFile(filepath.Join(dir, "lib.star"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := starlark.New().Prepare(node(t, "path: main.star", false), fnexec.Site{Dir: dir, Inline: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := loadPrepared(t, p, registry.Literal(p.Needs.From, mediatypes.RoleStarlark, "main.star", []byte("load(\"lib.star\", \"f\")\nx = f\nprint(1)\n")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fnexec.Call(t.Context(), r, fnexec.Input{}); err == nil || !strings.Contains(err.Error(), "nested more than") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
