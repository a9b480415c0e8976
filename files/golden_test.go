package files_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/kyaml/comments"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

var update = flag.Bool("update", false, "write the diffs that come out into the golden packages")

// TestGolden: each package of testdata/golden stays as it is byte for byte where a function changes
// nothing, whatever it does to comments, quotes and the order of keys, and becomes what its diff
// says where one changes something. Done twice, the second time changes nothing.
func TestGolden(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(list) < 30 && !*update {
		t.Fatalf("%d golden packages, %v", len(list), err)
	}
	for _, name := range list {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			golden(t, name)
		})
	}
}

func golden(t *testing.T, name string) {
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dir, want := unpack(t, ar)
	tree := read(t, dir)
	for how, items := range noops(t, tree) {
		if got := change(t, tree, items).Diff(); got != "" {
			t.Errorf("%s changes the files:\n%s", how, got)
		}
	}
	ops := strings.TrimSpace(string(ar.Comment))
	if ops == "" {
		return
	}
	if *update {
		want = []byte(change(t, tree, edited(t, tree.Items(), ops)).Diff())
		save(t, name, ar, string(want))
	}
	for how, items := range noops(t, tree) {
		got := change(t, tree, edited(t, items, ops)).Diff()
		same := got == string(want)
		if how == "going through JSON" { // the order of the keys is gone, so what is new may stand elsewhere
			same = linesOf(got) == linesOf(string(want))
		}
		if !same {
			t.Errorf("after %s: got\n%s\nwant\n%s", how, got, want)
		}
	}
	c := change(t, tree, edited(t, tree.Items(), ops))
	if err := c.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	tree = read(t, dir)
	if len(tree.Notes()) > 0 {
		t.Error(tree.Notes())
	}
	for how, items := range noops(t, tree) {
		if got := change(t, tree, items).Diff(); got != "" {
			t.Errorf("%s changes the changed files:\n%s", how, got)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, ".krmcat-change")); err == nil {
		t.Error("the change left its directory behind")
	}
}

// TestRepeatedComment: a function may give a field the comment that another one has.
func TestRepeatedComment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "apiVersion: v1\nkind: X\nmetadata:\n  name: a # kpt-set: ${n}\nspec: # kpt-set: ${n}\n  a: 1 # kpt-set: ${n}\n  b: 1\n  list:\n  - v: 1\n"
	write(t, filepath.Join(dir, "a.yaml"), text)
	tree := read(t, dir)
	for _, items := range [][]*yaml.RNode{tree.Items(), printed(t, tree.Items()), recommented(t, printed(t, tree.Items()), tree.Items())} {
		items = edited(t, items, "line a.yaml 0 spec.b # kpt-set: ${n}\nline a.yaml 0 spec.list[0].v # kpt-set: ${n}")
		list := change(t, tree, items).Files()
		want := strings.NewReplacer("b: 1", "b: 1 # kpt-set: ${n}", "v: 1", "v: 1 # kpt-set: ${n}").Replace(text)
		if len(list) != 1 || string(list[0].After) != want {
			t.Errorf("got %q", list)
		}
	}
}

// noops returns the items of a tree as functions return them that change nothing.
func noops(t *testing.T, tree *files.Tree) map[string][]*yaml.RNode {
	t.Helper()
	bare := tree.Items()
	for _, item := range bare {
		uncomment(item.YNode())
	}
	return map[string][]*yaml.RNode{
		"nothing":               tree.Items(),
		"printing":              printed(t, tree.Items()),
		"losing comments":       bare,
		"printing without them": printed(t, bare),
		"going through JSON":    throughJSON(t, tree.Items()),
		"expanding aliases":     expanded(t, printed(t, tree.Items())),
		"copying comments":      recommented(t, printed(t, tree.Items()), tree.Items()),
	}
}

// linesOf returns the lines that a diff adds and removes, in an order of their own.
func linesOf(diff string) string {
	var lines []string
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func uncomment(n *yaml.Node) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	for _, c := range n.Content {
		uncomment(c)
	}
}

// printed prints items as one list and reads them again, as a function of kyaml does.
func printed(t *testing.T, items []*yaml.RNode) []*yaml.RNode {
	t.Helper()
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, item := range items {
		list.Content = append(list.Content, item.YNode())
	}
	text, err := yaml.Marshal(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{yamldoc.Text("items"), list}})
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var out []*yaml.RNode
	for _, n := range doc.Content[0].Content[1].Content {
		out = append(out, yaml.NewRNode(n))
	}
	return out
}

// recommented copies comments to items as orchestrators do, which repeats some that have moved.
func recommented(t *testing.T, items, from []*yaml.RNode) []*yaml.RNode {
	t.Helper()
	items, from = expanded(t, items), expanded(t, from)
	for i, item := range items {
		if err := comments.CopyComments(from[i], item); err != nil {
			t.Fatal(err)
		}
	}
	return items
}

// expanded replaces aliases by what they stand for.
func expanded(t *testing.T, items []*yaml.RNode) []*yaml.RNode {
	t.Helper()
	for _, item := range items {
		if err := yamldoc.Flatten(item.YNode()); err != nil {
			t.Fatal(err)
		}
	}
	return items
}

// throughJSON does what a function does that decodes and encodes JSON.
func throughJSON(t *testing.T, items []*yaml.RNode) []*yaml.RNode {
	t.Helper()
	var out []*yaml.RNode
	for _, item := range items {
		flat := item.Copy()
		if err := yamldoc.Flatten(flat.YNode()); err != nil {
			t.Fatal(err)
		}
		text := jsonOf(t, flat.YNode())
		var value any
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		if err := dec.Decode(&value); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		again, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		n, err := yaml.Parse(string(again))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

func jsonOf(t *testing.T, n *yaml.Node) string {
	t.Helper()
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, quoted(n.Content[i].Value)+":"+jsonOf(t, n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case yaml.SequenceNode:
		for _, c := range n.Content {
			parts = append(parts, jsonOf(t, c))
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	switch n.ShortTag() {
	case "!!null":
		return "null"
	case "!!bool":
		return strings.ToLower(n.Value)
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return n.Value
		}
		var v any
		if err := n.Decode(&v); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(v)
	}
	return quoted(n.Value)
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// edited changes items as the lines of a golden package say.
func edited(t *testing.T, items []*yaml.RNode, ops string) []*yaml.RNode {
	t.Helper()
	for line := range strings.Lines(ops) {
		line = strings.TrimSpace(line)
		verb, rest, _ := strings.Cut(line, " ")
		if verb == "" || verb[0] == '#' {
			continue
		}
		if verb == "add" {
			items = append(items, yaml.MustParse(rest))
			continue
		}
		parts := regexp.MustCompile(`^(\S+) (\S+)(?: ((?:\[[^\]]*\]|[^\s\[])+)(?: (.*))?)?$`).FindStringSubmatch(rest)[1:]
		i := -1
		for k, item := range items {
			a := item.GetAnnotations()
			if a["internal.config.kubernetes.io/path"] == parts[0] && a["internal.config.kubernetes.io/index"] == parts[1] {
				i = k
			}
		}
		if i < 0 {
			t.Fatalf("%q: no such item", line)
		}
		items = edit(t, items, i, append([]string{verb}, parts[2:]...))
	}
	return items
}

func edit(t *testing.T, items []*yaml.RNode, i int, op []string) []*yaml.RNode {
	t.Helper()
	if op[0] == "drop" {
		return append(items[:i:i], items[i+1:]...)
	}
	n := items[i].YNode()
	steps := regexp.MustCompile(`\[[^\]]*\]|[^.\[\]]+`).FindAllString(op[1], -1)
	for _, step := range steps[:len(steps)-1] {
		n = child(t, n, step)
	}
	last := steps[len(steps)-1]
	switch op[0] {
	case "set":
		value := yaml.MustParse(op[2]).YNode()
		put(t, n, last, value)
	case "delete":
		if k, err := index(last); err == nil {
			n.Content = append(n.Content[:k:k], n.Content[k+1:]...)
			break
		}
		k := yamldoc.FieldIndex(n, strings.Trim(last, "[]"))
		n.Content = append(n.Content[:k:k], n.Content[k+2:]...)
	case "line":
		child(t, n, last).LineComment = op[2]
	case "head":
		n.Content[yamldoc.FieldIndex(n, last)].HeadComment = op[2]
	default:
		t.Fatalf("unknown: %v", op)
	}
	return items
}

func index(step string) (int, error) {
	return strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(step, "["), "]"))
}

func child(t *testing.T, n *yaml.Node, step string) *yaml.Node {
	t.Helper()
	if k, err := index(step); err == nil && n.Kind == yaml.SequenceNode {
		return n.Content[k]
	}
	c := yamldoc.Field(n, strings.Trim(step, "[]"))
	if c == nil {
		t.Fatalf("no field %s", step)
	}
	return c
}

func put(t *testing.T, n *yaml.Node, step string, v *yaml.Node) {
	t.Helper()
	if k, err := index(step); err == nil && n.Kind == yaml.SequenceNode {
		if k == len(n.Content) {
			n.Content = append(n.Content, v)
			return
		}
		n.Content[k] = v
		return
	}
	step = strings.Trim(step, "[]")
	if i := yamldoc.FieldIndex(n, step); i >= 0 {
		n.Content[i+1] = v
		return
	}
	n.Content = append(n.Content, yamldoc.Text(step), v)
}

// unpack writes the files of a golden package, and returns the diff that is expected. The content
// of a file whose name ends in .quoted is Go strings, one a line.
func unpack(t *testing.T, ar *txtar.Archive) (dir string, want []byte) {
	t.Helper()
	dir = t.TempDir()
	for _, f := range ar.Files {
		if f.Name == "want.diff" {
			want = f.Data
			continue
		}
		if name, ok := strings.CutSuffix(f.Name, ".quoted"); ok {
			f.Name, f.Data = name, unquoted(t, f.Data)
		}
		write(t, filepath.Join(dir, f.Name), string(f.Data))
	}
	return dir, unquotedDiff(want)
}

// unquotedDiff restores the carriage returns of a diff.
func unquotedDiff(diff []byte) []byte { return bytes.ReplaceAll(diff, []byte("␍"), []byte("\r")) }

func save(t *testing.T, name string, ar *txtar.Archive, diff string) {
	t.Helper()
	diff = strings.ReplaceAll(diff, "\r", "␍")
	var kept []txtar.File
	for _, f := range ar.Files {
		if f.Name != "want.diff" {
			kept = append(kept, f)
		}
	}
	out := &txtar.Archive{Comment: ar.Comment, Files: append(kept, txtar.File{Name: "want.diff", Data: []byte(diff)})}
	if err := os.WriteFile(name, txtar.Format(out), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unquoted(t *testing.T, data []byte) []byte {
	t.Helper()
	var out []byte
	for line := range strings.Lines(string(data)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, text...)
	}
	return out
}

func write(t *testing.T, path, text string) { t.Helper(); writeFile(t, path, text) }

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, dir string) *files.Tree {
	t.Helper()
	tree, err := files.Read(t.Context(), dir, files.Options{Kptfiles: true, Packages: files.Nested})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func change(t *testing.T, tree *files.Tree, items []*yaml.RNode) *files.Change {
	t.Helper()
	c, err := tree.Change(items)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
