package fnexec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// sentItems are documents for a list.
const sentItems = `apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data: {x: "1", y: [a, b]}
---
# above b
apiVersion: v1
kind: ConfigMap # beside the kind
metadata:
  name: b
data:
  # inside
  script: |
    #!/bin/sh
    - kind: A
    # the end
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
# below c
---
# above d

# and more
kind: D
text: "- kind: A\nitems:\n"
---
kind: E
keep: |+
  a

---
kind: F
`

// wire prints a list as Call does, and returns its items and their text.
func wire(t testing.TB, docs string) (items []*yaml.RNode, data []byte) {
	t.Helper()
	parsed, err := parse([]byte(docs))
	if err != nil {
		return nil, nil
	}
	for _, n := range parsed {
		if n.Kind == yaml.MappingNode {
			items = append(items, yaml.NewRNode(n))
		}
	}
	if _, err := tagItems(items); err != nil {
		return nil, nil
	}
	list := ResourceList{Items: items, FunctionConfig: yaml.MustParse("kind: Config\n")}
	if data, err = list.Encode(); err != nil {
		return nil, nil
	}
	return items, data
}

// TestUnchangedItemsAreNotParsed checks which items of an output are the nodes that were sent.
func TestUnchangedItemsAreNotParsed(t *testing.T) {
	t.Parallel()
	all := func(s string) string { return s }
	swap := func(oldnew ...string) func(string) string { return strings.NewReplacer(oldnew...).Replace }
	for name, c := range map[string]struct {
		edit func(string) string
		same string // a letter for each item: S for one that was sent, p for one that was parsed
	}{
		"all":                 {all, "SSSSSS"},
		"without the config":  {func(s string) string { return s[:strings.Index(s, "functionConfig")] }, "SSSSSS"},
		"with results":        {func(s string) string { return s + "results:\n- message: m\n" }, "SSSSSS"},
		"the first":           {swap("name: a", "name: z"), "pSSSSS"},
		"one above a comment": {swap("name: c", "name: z"), "SSpSSS"},
		"one below a comment": {swap("name: b", "name: z"), "SpSSSS"},
		"the last":            {swap("kind: F", "kind: Z"), "SSSSSp"},
		"a new one":           {swap("- kind: F", "- kind: New\n- kind: F"), "SSSSSpS"},
		"one twice": {func(s string) string {
			i := strings.Index(s, "- kind: F")
			j := strings.Index(s, "functionC")
			return s[:j] + s[i:]
		}, "SSSSSSp"},
		"one gone": {func(s string) string {
			i := strings.Index(s, "- kind: F")
			j := strings.Index(s, "functionC")
			return s[:i] + s[j:]
		}, "SSSSS"},
		"none left":             {func(s string) string { return s[:strings.Index(s, "- ")] }, ""},
		"another version":       {swap("config.kubernetes.io/v1\n", "config.kubernetes.io/v1beta1\n"), "pppppp"},
		"CRLF":                  {swap("\n", "\r\n"), "pppppp"},
		"inside of quotes":      {swap("kind: F\n", "kind: Z\n  x: \"\n", "functionConfig:", "x\"\nfunctionConfig:"), "pppppp"},
		"quotes around another": {swap("name: a\n", "name: a\n    x: \"\n", "  - kind: D", "\"\n- kind: D"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			items, data := wire(t, sentItems)
			got, err := decodeAfter(data, items, []byte(c.edit(string(data))))
			if err != nil {
				if c.same != "" {
					t.Fatal(err)
				}
				return
			}
			same := ""
			for _, item := range got.Items {
				letter := "p"
				if slices.ContainsFunc(items, func(n *yaml.RNode) bool { return n.YNode() == item.YNode() }) {
					letter = "S"
				}
				same += letter
			}
			if same != c.same {
				t.Errorf("got %s, want %s in\n%s", same, c.same, c.edit(string(data)))
			}
			compareDecoding(t, items, data, []byte(c.edit(string(data))))
		})
	}
}

// TestAliasesAreParsed checks that an item with an alias is parsed, which replaces the alias.
func TestAliasesAreParsed(t *testing.T) {
	t.Parallel()
	item := yaml.MustParse("kind: A\na: &a {b: c}\nd: *a\n")
	data, err := (&ResourceList{Items: []*yaml.RNode{item}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeAfter(data, []*yaml.RNode{item}, data)
	if err != nil || len(got.Items) != 1 || got.Items[0] == item || got.Items[0].MustString() != "kind: A\na: {b: c}\nd: {b: c}\n" {
		t.Errorf("got %v, %v", got, err)
	}
}

// FuzzWire checks that decodeAfter makes the same of any output as decode.
func FuzzWire(f *testing.F) {
	f.Add(sentItems, []byte{})
	for i := range byte(20) {
		f.Add(sentItems, []byte{i * 7, i, i * 3, i + 1, i * 11, i + 2})
	}
	for op := range byte(len(snippets()) + 3) {
		f.Add("kind: A\n---\nkind: B\n# c\n---\nkind: C\nx: |\n  y\n", []byte{8, op, 20, op, 14, op + 1})
	}
	f.Fuzz(func(t *testing.T, docs string, plan []byte) {
		items, data := wire(t, docs)
		if data == nil {
			return
		}
		compareDecoding(t, items, data, []byte(edited(string(data), plan)))
	})
}

// snippets are lines that could mislead a reader of lines.
func snippets() []string {
	return []string{"  x: \"", "\"", "  x: '", "'", "- kind: B", "- ", "-", "# c", "  # c", "", "  y: |+", "  y: >2", "  z: [", "]", "results:", "- message: m",
		"---", "...", "  w: &a b", "  v: *a", "functionConfig: 1", "items:", "  ? k", "\t", "x", "  kind: C", "- # c", "- {kind: F}", "-  kind: G", "- !!map", "    n: o", "\ufeff", "x: \"", "%YAML 1.1", "\u2028- kind: H"}
}

// edited changes the lines of a text: a pair of bytes has the line and what happens to it.
func edited(text string, plan []byte) string {
	lines := strings.Split(text, "\n")
	for i := 0; i+1 < len(plan) && len(lines) > 1; i += 2 {
		at, op := int(plan[i])%len(lines), int(plan[i+1])%(len(snippets())+3)
		switch op {
		case 0:
			lines = slices.Delete(lines, at, at+1)
		case 1:
			lines = slices.Insert(lines, at, lines[at])
		case 2:
			lines[0], lines[at] = lines[at], lines[0]
		default:
			lines = slices.Insert(lines, at, snippets()[op-3])
		}
	}
	return strings.Join(lines, "\n")
}

func compareDecoding(t *testing.T, items []*yaml.RNode, data, out []byte) {
	t.Helper()
	want, wantErr := decode(out)
	got, err := decodeAfter(data, items, out)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || len(got.Items) != len(want.Items) {
		t.Fatalf("got %v, %d items, want %v, %d items in\n%s", err, len(got.Items), wantErr, len(want.Items), out)
	}
	for i, item := range got.Items {
		sent := slices.ContainsFunc(items, func(n *yaml.RNode) bool { return n.YNode() == item.YNode() })
		if d := cmp.Diff(described(want.Items[i].YNode(), !sent), described(item.YNode(), !sent)); d != "" {
			t.Fatalf("item %d, sent %t: %s in\n%s", i, sent, d, out)
		}
	}
	for _, pair := range [][2]*yaml.RNode{{want.Results, got.Results}, {want.FunctionConfig, got.FunctionConfig}} {
		if d := cmp.Diff(described(pair[0].YNode(), true), described(pair[1].YNode(), true)); d != "" {
			t.Fatalf("%s in\n%s", d, out)
		}
	}
	if d := cmp.Diff(want.ignored.warnings(), got.ignored.warnings()); d != "" {
		t.Fatal(d)
	}
}

// described writes the values of a tree and, with whole, its comments and styles.
func described(n *yaml.Node, whole bool) string {
	if n == nil {
		return ""
	}
	s := fmt.Sprintf("%d %s %q", n.Kind, n.ShortTag(), n.Value)
	if whole {
		s += fmt.Sprintf(" %d %q %q %q", n.Style, n.HeadComment, n.LineComment, n.FootComment)
	}
	for _, c := range n.Content {
		s += "\n" + strings.ReplaceAll(described(c, whole), "\n", "\n ")
	}
	return s
}
