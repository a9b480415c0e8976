package yamldoc_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

func TestTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-01-31":                "2026-01-31T00:00:00Z",
		"'2026-01-31'":              "2026-01-31T00:00:00Z",
		"2026-01-31T12:30:00+02:00": "2026-01-31T10:30:00Z",
		"2026-01-31 12:30:00":       "",
		"2026-1-31":                 "",
		"31.1.2026":                 "",
		"2026":                      "",
		"[2026-01-31]":              "",
		"2026-02-29":                "",
	} {
		s := yamldoc.NewValue(yaml.MustParse("t: "+text), "")
		got, whole := s.Get("t").Time()
		if want == "" {
			if s.Err() == nil {
				t.Errorf("%s is %s", text, got)
			}
			continue
		}
		if s.Err() != nil || got.Format(time.RFC3339) != want || whole != (len(text) < 13) {
			t.Errorf("%s: %s, a whole day %v, %v", text, got, whole, s.Err())
		}
	}
	s := yamldoc.NewValue(yaml.MustParse("{}"), "")
	if got, whole := s.Get("t").Time(); s.Err() != nil || !got.IsZero() || whole {
		t.Error(got, whole, s.Err())
	}
}

// reading reads a document in a few ways, and returns what it has to say about it.
func reading(t *testing.T, text string, read func(yamldoc.Value)) []string {
	t.Helper()
	var ps yamldoc.Problems
	for _, doc := range yamldoc.Documents([]byte(text), &ps) {
		read(ps.Read(doc.Content[0]))
	}
	return said(&ps)
}

// TestValueProblems has a row for each thing that can be wrong with a value.
func TestValueProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		read     func(yamldoc.Value)
		want     string
	}{
		{"unknown", "a: 1\nlevels: 2\ncolour: 3\n", func(v yamldoc.Value) { v.Only("a", "level") },
			`line 2: unknown field "levels", did you mean "level"?|line 3: unknown field "colour", known are a, level`},
		{"unknown below", "a:\n  b:\n  - {nam: 1}\n", func(v yamldoc.Value) { v.Get("a").Get("b").Each()[0].Only("name") },
			`line 3: a.b[0]: unknown field "nam", did you mean "name"?`},
		{"names that are no plain words", "a:\n  b.c/d:\n    '': [x]\n", func(v yamldoc.Value) { v.Get("a").Get("b.c/d").Get("").Text() },
			`line 3: a["b.c/d"][""]: must be a string, not a list`},
		{"no value", "a:\nb: 1\n", func(v yamldoc.Value) { v.Exactly("a", "b") }, "line 1: a: it has no value"},
		{"types", "l: {}\nm: []\nt: [x]\nb: 1\nd: x\nq: true\nw: !mine x\n", func(v yamldoc.Value) {
			v.Get("l").Each()
			v.Get("m").Only("x")
			v.Get("t").Text()
			v.Get("b").Bool()
			v.Get("d").Digest()
			v.Get("q").TextOnly()
			v.Get("w").TextOnly()
			v.Get("t").Pairs()
		}, `line 1: l: must be a list, not a mapping|line 2: m: must be a mapping, not a list|line 3: t: must be a string, not a list|` +
			`line 3: t: must be a mapping, not a list|line 4: b: must be true or false, not a number|line 5: d: "x" is not a sha256, which is 64 hexadecimal digits|` +
			`line 6: q: must be a string, not a boolean, quote it|line 7: w: must be a string, not a value of type "!mine", quote it`},
		{"entries", "l: [a, 1, ~, [b]]\n", func(v yamldoc.Value) { v.Get("l").Texts() },
			"line 1: l[2]: must be a string, not null|line 1: l[3]: must be a string, not a list"},
		{"missing", "a:\n  b: {}\n", func(v yamldoc.Value) {
			v.Get("a").Get("b").Get("c").Need()
			v.Get("a").Get("b").Get("d").Get("e").Need()
		},
			"line 2: a.b.c: missing|line 2: a.b.d.e: missing"},
		{"missing and null", "a:\n  b: 1\n  c: ~\n", func(v yamldoc.Value) { v.Get("a").Get("c").Need() }, "line 2: a.c: missing"},
		{"missing as it is misspelt", "nam: 1\n", func(v yamldoc.Value) { v.Only("name"); v.Get("name").Need(); v.Get("name").Get("x").Need() },
			`line 1: unknown field "nam", did you mean "name"?`},
		{"missing in what is no mapping", "a: 1\n", func(v yamldoc.Value) { v.Get("a").Only("b"); v.Get("a").Get("b").Need() },
			"line 1: a: must be a mapping, not a number"},
		{"missing in what nobody complained of", "a: 1\n", func(v yamldoc.Value) { v.Get("a").Get("b").Need() }, "line 1: a.b: missing"},
	} {
		if got := strings.Join(reading(t, c.in, c.read), "|"); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestManyProblems: of a hostile file so many problems are kept, a few are told, and the one that
// reading ended with is among them.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	ps := yamldoc.Problems{File: "f.yaml"}
	text := strings.Repeat("? [a]\n: b\n---\n", 1500) + "x: " + strings.Repeat("[", 600) + strings.Repeat("]", 600)
	yamldoc.Documents([]byte(text), &ps)
	var all *yamldoc.Errors
	if err := ps.Err(); !errors.As(err, &all) || len(all.List) != 20 || len(all.List)+all.More != ps.Len() || !errors.Is(err, failure.Untrusted) {
		t.Errorf("%d problems: %v", ps.Len(), err)
	}
	if err := ps.First(); !errors.Is(err, failure.Untrusted) || err.Error() != "f.yaml:4501: nested more than 500 levels deep" {
		t.Error(err)
	}
	if n := len(ps.Sorted()); n != 1000 {
		t.Errorf("%d are kept", n)
	}
}

// FuzzValue reads any document in every way: each way gives a value or a problem, each problem has
// a place, and what is read twice is the same.
func FuzzValue(f *testing.F) {
	for _, s := range []string{"a: {b: [1, x, ~]}\n", "? [a]\n: {<<: 1}\n", "- 1\n", "a: b\n---\nc: d\n", "a: {a: {a: }}\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		one := reading(t, text, func(v yamldoc.Value) { walk(t, v, 0) })
		if again := reading(t, text, func(v yamldoc.Value) { walk(t, v, 0) }); strings.Join(one, "|") != strings.Join(again, "|") {
			t.Errorf("%q and then %q", one, again)
		}
		for _, p := range one {
			if !strings.HasPrefix(strings.TrimPrefix(p, "bomb: "), "line ") {
				t.Errorf("%q has no place", p)
			}
		}
	})
}

func walk(t *testing.T, v yamldoc.Value, depth int) {
	t.Helper()
	if depth > 20 {
		return
	}
	kinds := 0
	for _, is := range []bool{!v.Present(), v.IsMapping(), v.IsList(), v.IsText()} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		t.Errorf("line %d: %d kinds", v.Line(), kinds)
	}
	wrong := func() bool { return v.Err() != nil }
	if v.Only("a", "b"); v.Present() && !v.IsMapping() && !wrong() {
		t.Error("no mapping, and no problem")
	}
	v.Exactly("a")
	v.Get("a").Need()
	if v.Get("a").TextOnly() != "" && v.Get("a").Text() == "" {
		t.Error("text, and no text")
	}
	v.Bool()
	v.Time()
	v.Digest()
	v.Texts()
	v.Pairs()
	if v.IsList() {
		for _, e := range v.Each() {
			walk(t, e, depth+1)
		}
	}
	if v.IsMapping() {
		for key, e := range v.Fields() {
			if walk(t, e, depth+1); v.Get(key.Value).Present() != e.Present() && !wrong() {
				t.Errorf("%q is not found", key.Value)
			}
		}
	}
}
