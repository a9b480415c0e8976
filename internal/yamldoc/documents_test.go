package yamldoc_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

func read(text string) (docs []string, problems []string) {
	var ps yamldoc.Problems
	for _, n := range yamldoc.Documents([]byte(text), &ps) {
		docs = append(docs, yaml.NewRNode(n).MustString())
	}
	return docs, said(&ps)
}

// said gives the messages of all problems.
func said(ps *yamldoc.Problems) (problems []string) {
	for _, p := range ps.Sorted() {
		if p.Bomb {
			problems = append(problems, "bomb: "+p.Error())
			continue
		}
		problems = append(problems, p.Error())
	}
	return problems
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"two", "a: 1\n---\nb: 2\n", "a: 1\n|b: 2\n"},
		{"empty ones", "---\n---\n# x\n---\nnull\n---\na: 1\n", "a: 1\n"},
		{"alias", "a: &x {k: v}\nb: *x\n", "a: {k: v}\nb: {k: v}\n"},
		{"merge", "a: &x {k: v, l: w}\nb:\n  <<: *x\n  k: own\n", "a: {k: v, l: w}\nb:\n  k: own\n  l: w\n"},
		{"merge of a list", "b:\n  <<: [{a: 1}, {a: 2, c: 3}]\n", "b:\n  a: 1\n  c: 3\n"},
		{"alias in alias", "a: &x [1]\nb: &y [*x, *x]\nc: *y\n", "a: [1]\nb: [[1], [1]]\nc: [[1], [1]]\n"},
	} {
		docs, problems := read(c.in)
		if got := strings.Join(docs, "|"); got != c.want || len(problems) > 0 {
			t.Errorf("%s: %q %q, want %q", c.name, got, problems, c.want)
		}
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for i, c := range "bcdefgh" {
		p := string("abcdefg"[i])
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+p+", ", 10), ", "))
	}
	for _, c := range []struct{ name, in, want string }{
		{"twice", "a: 1\nb: {c: 1, c: 2}\na: 2\n", `line 2: the field "c" is written twice, first in line 2|line 3: the field "a" is written twice, first in line 1`},
		{"list as key", "? [a]\n: b\n", "line 1: the key of a field must be text, not a list"},
		{"binary key", "!!binary a2luZA==: x\nkind: y\n", `line 1: the key "a2luZA==" has the tag !!binary: keys are written plainly`},
		{"key of its own type", "!mine kind: x\n", `line 1: the key "kind" has the tag !mine: keys are written plainly`},
		{"merge of text", "<<: x\n", "line 1: what is merged (<<) is not a mapping"},
		{"two merges", "<<: {a: 1}\nb: 2\n<<: {c: 3}\n", "line 3: a mapping has two merge keys (<<)"},
		{"no anchor", "a: 1\nb: *x\n", `line 2: the alias "x" has no anchor before it`},
		{"inside itself", "a: &x\n  b: *x\n", `bomb: line 2: the alias "x" stands inside its own anchor`},
		{"bomb", bomb, "bomb: line 5: its aliases stand for too much"},
		{"deep", strings.Repeat("[", 600) + strings.Repeat("]", 600), "bomb: line 1: nested more than 500 levels deep"},
		{"unclosed", "a: 1\nb: [\n", "line 3: did not find expected node content"},
		{"tab", "a:\n\tb: 1\n", "line 2: found character that cannot start any token"},
		{"control", "a: 1\nb: \x01\n", "line 2: control characters are not allowed"},
		{"not text", "a: \xff\n", "line 1: the text is not UTF-8"},
	} {
		if _, problems := read(c.in); strings.Join(problems, "|") != c.want {
			t.Errorf("%s: %q, want %q", c.name, problems, c.want)
		}
	}
}

// FuzzDocuments: what comes back without a problem has no aliases, and prints to a text
// that reads as the same.
func FuzzDocuments(f *testing.F) {
	for _, s := range []string{"a: &x {k: v}\nb: *x\n", "<<: {a: 1}\n", "? [a]\n", "a: &a [*a]\n", "---\n- 1\n", "\xff", "!!binary x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var ps yamldoc.Problems
		for _, n := range yamldoc.Documents(data, &ps) {
			if ps.Len() > 0 {
				return
			}
			if err := yamldoc.Flatten(n); err != nil {
				t.Errorf("flat, and not flat: %v", err)
			}
			noAliases(t, n)
		}
	})
}

func noAliases(t *testing.T, n *yaml.Node) {
	t.Helper()
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		t.Fatalf("line %d: an alias or an anchor is left", n.Line)
	}
	for _, c := range n.Content {
		noAliases(t, c)
	}
}

// TestFirst reads one document, of repeated fields the last, and tells what it passes over.
func TestFirst(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want, again string
		more                  bool
	}{
		{"one", "a: 1\n", "a: 1\n", "", false},
		{"twice", "a: 1\nb: {c: 1, c: 2, c: 3}\na: 2\n", "b: {c: 3}\na: 2\n",
			`line 2: the field "c" is written twice, first in line 2|line 2: the field "c" is written twice, first in line 2|line 3: the field "a" is written twice, first in line 1`, false},
		{"many", strings.Repeat("a: 1\n", 40), "a: 1\n", strings.TrimSuffix(strings.Repeat("twice|", 39), "|"), false},
		{"merges", "<<: {a: 1}\nb: 2\n<<: {a: 3}\n", "b: 2\na: 3\n", "line 3: a mapping has two merge keys (<<)", false},
		{"second", "a: 1\n---\nb: 2\n", "a: 1\n", "", true},
		{"second is empty", "a: 1\n---\n# c\n---\n", "a: 1\n", "", false},
		{"third", "a: 1\n---\n---\nb: 2\n", "a: 1\n", "", true},
		{"second is broken", "a: 1\n---\n: : [ {\n", "a: 1\n", "", true},
		{"first is empty", "---\n---\na: 1\n", "", "", true},
		{"nothing", "# c\n", "", "", false},
	} {
		var ps, twice yamldoc.Problems
		doc, more := yamldoc.First([]byte(c.in), &ps, &twice)
		problems, again := said(&ps), said(&twice)
		got := ""
		if doc != nil {
			got = yaml.NewRNode(doc).MustString()
		}
		text := strings.Join(again, "|")
		if c.name == "many" {
			text = strings.TrimSuffix(strings.Repeat("twice|", len(again)), "|")
		}
		if got != c.want || more != c.more || text != c.again || len(problems) > 0 {
			t.Errorf("%s: %q, more %t, again %q, problems %q", c.name, got, more, text, problems)
		}
	}
	for _, bad := range []string{"a: *x\n", "a: [\n", "\xff", "? [a]\n: b\n"} {
		var ps yamldoc.Problems
		yamldoc.First([]byte(bad), &ps, &yamldoc.Problems{})
		if ps.Len() == 0 {
			t.Errorf("%q: no problem", bad)
		}
	}
}
