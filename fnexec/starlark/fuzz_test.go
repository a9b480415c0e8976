package starlark_test

import (
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
)

// FuzzRoundTrip checks that a script that does nothing returns resources of any shape unchanged.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{tricky, "kind: A\nx: [1, 0x2, 1e3, .inf, ~, on, 2001-01-01, !!binary aGk=, !x y]\n", "kind: A\n1: 2\n? true\n: 3\n", "kind: &a A\nb: *a\n",
		"kind: A\na: 99999999999999999999999\nb: 0o17\nc: 1_000\nd: +1\ne: -0\n"} {
		f.Add(s)
	}
	r, err := load(f, "pass")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		list, err := fnexec.Decode([]byte(s))
		if err != nil || len(list.Items) == 0 {
			return
		}
		want, err := list.Encode()
		if err != nil {
			return
		}
		lr, ok := r.(fnexec.ListRunner)
		if !ok {
			t.Fatal("it cannot work on the list")
		}
		if err := lr.RunList(t.Context(), list, &discard{}); err != nil {
			return
		}
		got, err := list.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}

// FuzzNewText checks that any string is written and read back unchanged.
func FuzzNewText(f *testing.F) {
	for _, s := range []string{"", "yes", "1", "0x1", "~", "null", "a\nb", " x", "x ", "#", "- a", "a: b", "2001-01-01", "1_000", "=", "<<", "0b1", "1:30", ".5", "+.inf", "\t", "\"", "'", "\u0085", "\uFEFF", "{a: b}"} {
		f.Add(s)
	}
	r, err := load(f, "for i in ctx.resource_list[\"items\"]:\n    i[\"new\"] = i[\"old\"][0] if i[\"old\"] else \"\"\n")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		old := yaml.NewRNode(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{
			{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Style: yaml.DoubleQuotedStyle, Value: s},
		}})
		item := node(t, "kind: A\n", false)
		if err := item.PipeE(yaml.SetField("old", old)); err != nil {
			t.Fatal(err)
		}
		out, err := fnexec.Call(t.Context(), r, fnexec.Input{Items: []*yaml.RNode{item}})
		if err != nil {
			return // not UTF-8
		}
		data, err := (&fnexec.ResourceList{Items: out.Items}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := fnexec.Decode(data)
		if err != nil {
			t.Skip("the printer's escapes are not ours")
		}
		n := back.Items[0].Field("new").Value.YNode()
		if n.ShortTag() != yaml.NodeTagString || n.Value != s {
			t.Errorf("%q came back as %s %q from\n%s", s, n.ShortTag(), n.Value, data)
		}
	})
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }
