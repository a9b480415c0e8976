package starlark_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/sandbox"
)

// TestHeap is not parallel, so that the memory of other tests does not count.
func TestHeap(t *testing.T) { //nolint:paralleltest // as said
	r, err := load(t, "x = []\nfor i in range(400):\n    x.append(\"a\" * 1000000 + str(i))\n")
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	_, err = fnexec.Call(t.Context(), starlark.WithGrowth(r, 64<<20), fnexec.Input{DeferFailure: true})
	var limit *starlark.LimitError
	if !errors.As(err, &limit) || !strings.Contains(err.Error(), "more than 67108864 bytes of memory") {
		t.Errorf("got %v, want a LimitError", err)
	}
	if _, err = fnexec.Call(t.Context(), r, fnexec.Input{}); err != nil {
		t.Errorf("got %v where there is room", err)
	}
}

// TestLargeValues has single steps that would use gigabytes, or the whole stack.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	deep := "x = []\nfor i in range(100000):\n    x = [x]\n"
	wide := "x = 1\nfor i in range(30):\n    x = [x, x]\n"
	big := "load(\"re\", \"re\")\nload(\"csv\", \"csv\")\nload(\"json\", \"json\")\ns = \"a\" * 1000000\n"
	for script, want := range map[string]string{
		"x = [0] * (1 << 29)":                                         "elements",
		"x = (1 << 29) * (0,)":                                        "elements",
		"x = \"a\" * (1 << 29)":                                       "longer",
		"x = \"a\" * (1 << 200)":                                      "longer",
		"x = [0]\nx *= 1 << 29":                                       "elements",
		"x = b\"a\" * (1 << 29)":                                      "longer",
		"s = \"a\"\nfor i in range(40):\n    s = s + s":               "longer",
		"s = \"a\"\nfor i in range(40):\n    s += s":                  "longer",
		"s = [0]\nfor i in range(40):\n    s += s":                    "elements",
		"s = [0]\nfor i in range(40):\n    s.extend(s)":               "elements",
		"s = [0]\nfor i in range(40):\n    s = s + s":                 "elements",
		"x = 7\nfor i in range(40):\n    x *= x":                      "bits",
		"x = 7\nfor i in range(40):\n    x = x * x":                   "bits",
		"s = \"a\" * 1000000\ns.replace(\"a\", s)":                    "longer",
		"s = \"a\" * 1000000\ngetattr(s, \"replace\")(\"\", s)":       "longer",
		"s = \"a\" * 1000000\ns.join([s] * 100)":                      "longer",
		"s = \"a\" * 1000000\n\", \".join([s] * 100)":                 "longer",
		"s = \"a\" * 1000000\n(\"{0}\" * 100).format(s)":              "longer",
		"s = \"a\" * 1000000\n(\"%s\" * 100) % tuple([s] * 100)":      "longer",
		"s = [0] * 1000000\nzip(*([s] * 100))":                        "elements",
		deep + "str(x)":                                               "deep",
		deep + "print(x)":                                             "deep",
		deep + "log(x)":                                               "deep",
		deep + "fail(x)":                                              "deep",
		deep + "\"%s\" % [x]":                                         "deep",
		deep + "\"{}\".format(x)":                                     "deep",
		"load(\"json\", \"json\")\n" + deep + "json.encode(x)":        "deep",
		"load(\"json\", \"json\")\n" + deep + "json.dumps(x)":         "deep",
		"load(\"json\", \"json\")\n" + deep + "json.encode_indent(x)": "deep",
		"load(\"yaml\", \"yaml\")\n" + deep + "yaml.dumps(x)":         "deep",
		wide + "str(x)":                                               "longer",
		big + "re.sub(\"\", \"b\" * 100, s)":                          "longer",
		big + "re.sub(\"(a*)\", \"$1\" * 100, s)":                     "longer",
		big + "re.findall(\"\", s * 3)":                               "elements",
		big + "re.match(\"()()()()\", s)":                             "elements",
		big + "re.split(\"\", s * 3)":                                 "elements",
		big + "csv.read_all(\"a\\n\" * 3000000)":                      "elements",
		big + "csv.write_all([[s]] * 100)":                            "longer",
		big + "csv.write_all([[s] * 100])":                            "longer",
		big + wide + "csv.write_all([[x]])":                           "longer",
		big + "json.indent(\"[1,2]\" , prefix = s * 10)":              "longer",
		big + "json.indent(\"[\" * 100 + \"]\" * 100, indent = s)":    "longer",
		big + "json.encode_indent([1] * 100, prefix = s)":             "longer",
		big + "json.indent(\"[\\\"\" + \"]\" * 10 + \"\\\"\" + \",1\" * 60 + \"]\", indent = s)":         "longer",
		big + "json.indent(\"[\\\"\\\\\\\"\" + \"}\" * 10 + \"\\\"\" + \",1\" * 60 + \"]\", indent = s)": "longer",
		big + "json.indent(\"[\" + \"[],\" * 60 + \"{}]\", indent = s)":                                  "longer",
		big + "json.encode_indent([\"]\"] + [1] * 60, indent = s)":                                       "longer",
		big + "json.encode_indent({\"}\": [1] * 60}, indent = s)":                                        "longer",
		big + "json.encode_indent([1] * 10, indent = s, prefix = s)":                                     "longer",
	} {
		_, _, err := run(t, script)
		var exit *fnexec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", script, err, want)
		}
	}
}

// TestLargeSteps checks what is large only as the result of one step: with escapes, indents or
// separators, with strings that are not UTF-8, or with values that are lists to a builtin only.
func TestLargeSteps(t *testing.T) {
	t.Parallel()
	const prelude = `
load("base64", "base64")
load("csv", "csv")
load("json", "json")
load("re", "re")
load("time", "time")
load("yaml", "yaml")
mega = "a" * 1000000
bad = "\u00e9"[0] * 8000000
huge = 1 << 500
for i in range(10):
    huge = huge * huge
def nested(x, depth):
    for i in range(depth):
        x = {"a": x}
    return x
`
	for script, want := range map[string]string{
		`csv.read_all("," * (16 << 20))`:                                  "elements",
		`csv.write_all([["\"" * (8 << 20), "\"" * (7 << 20)]])`:           "longer",
		`csv.write_all([["\"" * (9 << 20)]])`:                             "longer",
		`base64.encode("a" * (15 << 20))`:                                 "longer",
		`yaml.dumps(nested([1] * 100000, 150))`:                           "longer",
		`yaml.dumps(nested("a\n" * 100000, 150))`:                         "longer",
		`yaml.dumps([huge] * 1000)`:                                       "out of range",
		`json.encode("\x01" * (4 << 20))`:                                 "longer",
		`json.encode("\u00e9" + "<" * (4 << 20))`:                         "longer",
		`json.encode("\u00e9"[0] * (4 << 20))`:                            "longer",
		`json.encode([range(1000000)] * 100)`:                             "longer",
		`json.encode([mega.elems()] * 100)`:                               "longer",
		`json.encode([b"abc".elems()] * 1000000)`:                         "longer",
		`json.encode([time.parse_duration("1h7m1.000000001s")] * 200000)`: "longer",
		`json.decode("[" + "1," * 3000000 + "1]")`:                        "elements",
		`json.decode("1" * (2 << 20))`:                                    "bits",
		`int("1" * (2 << 20))`:                                            "bits",
		`int("1" * (2 << 20), base = 2)`:                                  "bits",
		`str(["\x01" * (5 << 20)])`:                                       "longer",
		`repr("\u0080" * (4 << 20))`:                                      "longer",
		`str(b"\xff" * (8 << 20))`:                                        "longer",
		`"%r" % ("\x01" * (5 << 20))`:                                     "longer",
		`str([mega.elems()] * 100)`:                                       "longer",
		`str([mega.codepoint_ords()] * 100)`:                              "longer",
		`str(ctx.resource_list.update([("self", ctx)]) or ctx)`:           "deep",
		`bytes(bad)`:                   "longer",
		`bad.upper()`:                  "longer",
		`bad.lower()`:                  "longer",
		`bad.title()`:                  "longer",
		`bad.capitalize()`:             "longer",
		`mega.join(mega.codepoints())`: "longer",
		`mega.join("aaaaaaaaaaaaaaaaaaaaaaa".codepoints())`:                 "longer",
		`print(sep = mega, *([1] * 100))`:                                   "longer",
		`fail(sep = mega, *([1] * 100))`:                                    "longer",
		`("a" * 4000000 + "c" * (10 << 20)).replace("a", "bb")`:             "longer",
		`re.sub("aa", "bbbb", "a" * 3000000 + "c" * (13 << 20))`:            "longer",
		`zip(*([mega.codepoints()] * 100))`:                                 "elements",
		`enumerate((mega * 3).codepoints())`:                                "elements",
		`enumerate(range(5000000))`:                                         "elements",
		`[].extend((mega * 3).codepoints())`:                                "elements",
		`set().union(*[range(i, i + 1000000) for i in range(100)])`:         "elements",
		`set().update(*[range(i, i + 1000000) for i in range(100)])`:        "elements",
		`("," * 3000000).split(",")`:                                        "elements",
		`("," * 3000000).rsplit(",")`:                                       "elements",
		`("," * 3000000).rsplit(",", 1)`:                                    "elements",
		`("a " * 3000000).split()`:                                          "elements",
		`("a " * 3000000).split(None)`:                                      "elements",
		`"a".split(None, 1 << 30)`:                                          "elements",
		`"a".rsplit(None, 1 << 30)`:                                         "elements",
		`("a\n" * 3000000).splitlines()`:                                    "elements",
		`time.from_timestamp(9000000000000).format("2006" * (2 << 20) * 2)`: "longer",
	} {
		_, _, err := run(t, prelude+script)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %.200v, want %q", script, err, want)
		}
	}
}

// TestRefusedByModules checks that what a module refuses for safety is a failure of the script.
func TestRefusedByModules(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, "load(\"yaml\", \"yaml\")\nyaml.loads(\"[\" * 10000)")
	var exit *fnexec.ExitError
	if !errors.As(err, &exit) || failure.Of(err) != failure.Function {
		t.Errorf("got %s: %v", failure.Of(err), err)
	}
}

// TestGuardsChangeNothing checks that guarded operators and methods have their usual results.
func TestGuardsChangeNothing(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, `
load("re", "re")
load("csv", "csv")
load("json", "json")
def same(got, want):
    if got != want:
        fail("got %r, want %r" % (got, want))

long = "a" * 5000
same(len(long + long), 10000)
same(len([1] * 5000 + [2] * 5000), 10000)
same(len((1,) * 3 + (2,)), 4)
same(3 * "ab", "ababab")
same("ab" * 0, "")
same([1] * -1, [])
same(2 * 3 * 7, 42)
same(1.5 * 2, 3.0)
same(2 * 1.5, 3.0)
same((1 << 70) * 3 + 1, 3541774862152233910273)
same(7 % 4, 3)
same(re.sub("(b)", "<$1>", "abab"), "a<b>a<b>")
same(csv.read_all("a,b\nc,d\ne,f", skip = 1), [["c", "d"], ["e", "f"]])
same(csv.read_all("a", skip = 2), [])
same(csv.write_all([["a", 1], ["b,", True]]), "a,1\n\"b,\",true\n")
same(json.indent("[1,{\"a\":[]}]", prefix = "_", indent = "."), "[\n_.1,\n_.{\n_..\"a\": []\n_.}\n_]")
same(json.encode_indent([1], indent = " "), "[\n 1\n]")
same(len(json.indent("[\"" + "[" * 5000000 + "\"]")), 5000007)
same(("," * 3000000).split(",", 1)[0], "")
same(json.decode("\"" + "1," * 3000000 + "\"")[:2], "1,")
same(json.encode(["<\u00e9\n"]), "[\"\\u003c\u00e9\\n\"]")
same("\u00e9" .upper(), "\u00c9")
same(",".join("ab".elems()), "a,b")
same(list(enumerate(["a"])), [(0, "a")])
same(list(zip("ab".elems(), "cd".codepoints())), [("a", "c"), ("b", "d")])
same(sorted(set([1]).union([2], [3])), [1, 2, 3])
same(int("11", 2), 3)
same("a b".split(), ["a", "b"])
same(bytes("a"), b"a")
same("%s-%d%%" % ("a", 1), "a-1%")
same("%(a)s" % {"a": 1}, "1")
x = [1]
y = x
y += [2] * 2000
same(len(x), 2001)
y += (3,)
x.extend([4])
same(x[-2:], [3, 4])
s = "a"
s += long
s *= 2
same(len(s), 10002)
s = "%s"
s %= "b"
same(s, "b")
same(", ".join(["a", "b"]), "a, b")
same("abab".replace("a", "c", 1), "cbab")
same(len((long * 3200).replace("a", "b")), 16000000)
same("{x}-{}".format(1, x = 2), "2-1")
same(getattr("a", "join")(["b", "c"]), "bac")
same(type("a".join), "builtin_function_or_method")
same(str("a".join), str("a".join))
same(list(zip([1], ["a"])), [(1, "a")])
loop = []
loop.append(loop)
same(str(loop), "[[...]]")
`)
	if err != nil {
		t.Error(err)
	}
	for script, want := range map[string]string{
		"1 * {}":       "unknown binary op: int * dict",
		"{} * 2":       "unknown binary op: dict * int",
		"1 + \"a\"":    "unknown binary op: int + string",
		"[] % 1":       "unknown binary op: list % int",
		"\"\".join(1)": "join: ",
		"fail(\"Starlark computation cancelled: x\")": "exit code 1",
	} {
		_, out, err := run(t, script)
		if err == nil || !strings.Contains(err.Error(), want) || out.Exit != 1 {
			t.Errorf("%q: got exit code %d and %v, want %q", script, out.Exit, err, want)
		}
	}
}

// TestOutputLimit checks that the output of a script is counted, however few its values are.
func TestOutputLimit(t *testing.T) {
	t.Parallel()
	r, err := load(t, `
s = "x" * (1 << 20)
ctx.resource_list["items"].append({"kind": "ConfigMap", "data": {str(i): s for i in range(100)}})`)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []fnexec.Runner{r, bytesOnly{r}} {
		_, err = fnexec.Call(t.Context(), r, fnexec.Input{DeferFailure: true})
		var limit *fnexec.OutputLimitError
		if !errors.As(err, &limit) || limit.Limit != sandbox.DefaultOutput {
			t.Errorf("got %v, want an OutputLimitError", err)
		}
	}
}

// TestDeepSyntax has scripts on which a recursive compiler would exhaust the stack.
func TestDeepSyntax(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"x = 1" + strings.Repeat("+1", 2_000_000):    "deep",
		"x = 1" + strings.Repeat(" % 1", 1_000_000):  "deep",
		"x = ctx" + strings.Repeat(".join", 800_000): "deep",
		"x = ctx" + strings.Repeat("()", 2_000_000):  "deep",
		"x = " + strings.Repeat("(", 4_000_000):      "nesting",
	} {
		if _, err := load(t, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v, want %q", script, err, want)
		}
	}
	if _, err := load(t, "x = 1"+strings.Repeat("+1", 4_000)); err != nil {
		t.Errorf("a long sum: %v", err)
	}
}

// TestOneKeyTwice checks that neither of two keys is lost that are the same to a script.
func TestOneKeyTwice(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, "pass", "apiVersion: v1\nkind: A\n0: a\n00: b\n")
	if err == nil || !strings.Contains(err.Error(), "line 4: the key 0 occurs twice") {
		t.Errorf("got %v", err)
	}
}
