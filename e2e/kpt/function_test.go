package kpt_test

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// The annotations that say where a resource stands.
const pathKey, legacyPathKey = "internal.config.kubernetes.io/path", "config.kubernetes.io/path"

// call is one call of the function of these tests.
type call struct {
	args []string
	in   []byte
	list *yaml.RNode
}

// function is a KRM function as a program. Its first argument says what it does. kpt and krmcat run
// it as `fn VERB ARGS`, found by PATH. It uses no code of krmcat.
func function(args []string, stdin io.Reader, stdout io.Writer) int {
	in, err := io.ReadAll(stdin)
	if err != nil {
		return 2
	}
	c := call{args: append(args, "", "", "", ""), in: in, list: yaml.MustParse(string(in))}
	code, printed := c.run()
	if printed != "" {
		_, _ = io.WriteString(stdout, printed)
	}
	return code
}

// run returns the exit code, and what is printed.
func (c *call) run() (int, string) {
	switch c.args[0] {
	case "silent":
		return 0, ""
	case "junk":
		return 0, "no: resource: list\n"
	case "input":
		fmt.Fprint(os.Stderr, string(c.in))
	case "fail":
		fmt.Fprintln(os.Stderr, c.args[2])
		return number(c.args[1]), ""
	case "kill":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // until the signal arrives
	case "lines":
		for i := range number(c.args[1]) {
			fmt.Fprintf(os.Stderr, "line %d\n", i+1)
		}
		return number(c.args[2]), ""
	case "results":
		c.results(c.args[1])
		return number(c.args[2]), c.list.MustString()
	default:
		c.change()
	}
	return 0, c.list.MustString()
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// change does what needs only the list.
func (c *call) change() {
	items := c.items()
	switch c.args[0] {
	case "cat":
	case "label":
		for _, n := range items {
			n.must(yaml.SetLabel(c.args[1], c.args[2]))
		}
	case "note": // appends to the annotation trace
		for _, n := range items {
			n.must(yaml.SetAnnotation("trace", n.GetAnnotations()["trace"]+c.args[1]+" "))
		}
	case "see":
		for _, n := range items {
			fmt.Fprintln(os.Stderr, n.seen())
		}
	case "say":
		fmt.Fprint(os.Stderr, strings.ReplaceAll(c.args[1], `\n`, "\n"))
	case "words":
		fmt.Fprintf(os.Stderr, "%q\n", c.args[1:len(c.args)-4])
	case "place":
		dir, _ := os.Getwd()
		fmt.Fprintln(os.Stderr, dir)
		fmt.Fprintf(os.Stderr, "mine=%q\n", os.Getenv("MINE"))
	case "config":
		c.config()
	case "data": // of the functionConfig, sorted
		values := c.list.Field("functionConfig").Value.GetDataMap()
		for _, name := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(os.Stderr, "%s=%q\n", name, values[name])
		}
	case "add":
		c.add()
	case "delete", "double", "reverse", "empty", "nonkrm":
		c.reorder()
	default:
		for _, n := range items {
			n.one(c.args, c.list)
		}
	}
}

// config tells the functionConfig.
func (c *call) config() {
	fc := c.list.Field("functionConfig")
	if fc == nil {
		fmt.Fprintln(os.Stderr, "no functionConfig")
		return
	}
	fmt.Fprint(os.Stderr, fc.Value.MustString())
}

// reorder replaces the items.
func (c *call) reorder() {
	list := c.list.Field("items").Value.YNode()
	var out []*yaml.Node
	for _, n := range list.Content {
		named := yaml.NewRNode(n).GetName() == c.args[1]
		switch c.args[0] {
		case "delete":
			if !named {
				out = append(out, n)
			}
		case "double":
			out = append(out, n)
			if named {
				out = append(out, n)
			}
		case "reverse":
			out = append([]*yaml.Node{n}, out...)
		case "nonkrm":
			out = append(out, n)
		}
	}
	if c.args[0] == "nonkrm" {
		out = append(out, yaml.MustParse("a: b\n").YNode())
	}
	list.Content, list.Style = out, 0
	if len(out) == 0 {
		list.Style = yaml.FlowStyle
	}
}

// add adds a ConfigMap: add NAME [PATH [INDEX [NAMESPACE]]].
func (c *call) add() {
	n := item{yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + c.args[1] + "\ndata:\n    new: value\n")}
	if p := c.args[2]; p != "" && p != "-" {
		n.must(yaml.SetAnnotation(pathKey, p))
	}
	if i := c.args[3]; i != "" && i != "-" {
		n.must(yaml.SetAnnotation("internal.config.kubernetes.io/index", i))
	}
	if ns := c.args[4]; ns != "" {
		if err := n.SetNamespace(ns); err != nil {
			panic(err)
		}
	}
	list := c.list.Field("items").Value.YNode()
	list.Content, list.Style = append(list.Content, n.YNode()), 0
}

// item is a resource of the list.
type item struct{ *yaml.RNode }

func (c *call) items() []item {
	list := c.list.Field("items")
	if list == nil {
		return nil
	}
	var items []item
	for _, n := range list.Value.YNode().Content {
		items = append(items, item{yaml.NewRNode(n)})
	}
	return items
}

func (n item) must(f yaml.Filter) {
	if err := n.PipeE(f); err != nil {
		panic(err)
	}
}

// seen describes a resource: its kind, its name, and where it stands.
func (n item) seen() string {
	notes := n.GetAnnotations()
	text := n.GetKind() + " " + n.GetName() + " path=" + notes[pathKey] + " index=" + notes["internal.config.kubernetes.io/index"]
	if trace := notes["trace"]; trace != "" {
		text += " trace=" + strings.TrimSpace(trace)
	}
	return text
}

// one changes one resource: VERB NAME ARGS.
func (n item) one(args []string, list *yaml.RNode) {
	switch args[0] {
	case "setters":
		values := list.Field("functionConfig").Value.GetDataMap()
		setters(n.YNode(), values)
		return
	case "comment":
		n.YNode().Content[1].LineComment = ""
		n.YNode().Content[0].HeadComment = "# added by " + args[1]
		return
	}
	if n.GetName() != args[1] {
		return
	}
	switch args[0] {
	case "rename":
		if err := n.SetName(args[2]); err != nil {
			panic(err)
		}
	case "path":
		n.must(yaml.SetAnnotation(pathKey, args[2]))
		if args[3] != "" {
			n.must(yaml.SetAnnotation("internal.config.kubernetes.io/index", args[3]))
		}
	case "legacypath":
		n.must(yaml.SetAnnotation(legacyPathKey, args[2]))
	case "bothpaths":
		n.must(yaml.SetAnnotation(pathKey, args[2]))
		n.must(yaml.SetAnnotation(legacyPathKey, args[3]))
	case "nopath":
		n.must(yaml.ClearAnnotation(pathKey))
		n.must(yaml.ClearAnnotation(legacyPathKey))
	case "index":
		n.must(yaml.SetAnnotation("internal.config.kubernetes.io/index", args[2]))
	default:
		panic("unknown verb " + args[0])
	}
}

// setters writes values where a comment names them: `replicas: 1 # kpt-set: ${replicas}`.
func setters(n *yaml.Node, values map[string]string) {
	if text, ok := strings.CutPrefix(n.LineComment, "# kpt-set: "); ok && n.Kind == yaml.ScalarNode {
		for name, value := range values {
			text = strings.ReplaceAll(text, "${"+name+"}", value)
		}
		n.Value = text
	}
	for _, c := range n.Content {
		setters(c, values)
	}
}

// results adds results of a shape that functions in use write.
func (c *call) results(shape string) {
	text := map[string]string{
		"plain":     "- {message: plain, severity: info, resourceRef: {apiVersion: v1, kind: ConfigMap, name: a, namespace: n}, field: {path: data.a, currentValue: x, proposedValue: z}, file: {path: a.yaml, index: 1}}",
		"error":     "- {message: bad value, severity: error, resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}, field: {path: data.a}, file: {path: a.yaml}}\n- {message: fine, severity: info}",
		"missing":   "- {message: no severity}",
		"items":     "items:\n- {message: in items, severity: info}",
		"named":     "- name: fn\n  items:\n  - {message: in named items, severity: info}",
		"warn":      "- {message: warn, severity: warn}",
		"suggested": "- {message: suggested, severity: info, field: {path: data.a, suggestedValue: z}}",
		"metadata":  "- {message: metadata, severity: info, resourceRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: n}}}",
		"minus":     "- {message: minus, severity: info, file: {path: a.yaml, index: -1}}",
		"tags":      "- {message: tags, severity: info, tags: {category: style}}",
		"values":    "- {message: values, severity: info, field: {path: spec.n, currentValue: 1, proposedValue: {a: [1, true]}}}",
		"unknown":   "- {message: unknown severity, severity: fatal}",
		"empty":     "- {message: \"\", severity: info}",
		"nomessage": "- {severity: info}",
		"text":      "all is well",
	}[shape]
	if text == "" {
		panic("unknown shape " + shape)
	}
	results := yaml.MustParse(text)
	if err := c.list.PipeE(yaml.SetField("results", results)); err != nil {
		panic(err)
	}
}
