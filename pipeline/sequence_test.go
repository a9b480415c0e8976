package pipeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline"
)

// stood returns a resource that stands in a file.
func stood(kind, name, file, index string) *yaml.RNode {
	n := yaml.MustParse("apiVersion: v1\nkind: " + kind + "\nmetadata:\n  name: " + name + "\n")
	put(n, file, index)
	return n
}

// put writes the place of a resource; "" is not written.
func put(n *yaml.RNode, file, index string) {
	for key, value := range map[string]string{"path": file, "index": index} {
		if value == "" {
			continue
		}
		if err := n.PipeE(yaml.SetAnnotation("internal.config.kubernetes.io/"+key, value)); err != nil {
			panic(err)
		}
	}
}

// lose removes all annotations.
func lose(n *yaml.RNode) { _ = n.PipeE(yaml.Lookup("metadata"), yaml.Clear("annotations")) }

// listed writes resources in a line each: KIND NAME FILE INDEX.
func listed(items []*yaml.RNode) string {
	var b strings.Builder
	for _, n := range items {
		notes := n.GetAnnotations()
		fmt.Fprintf(&b, "%s %s %s %s\n", n.GetKind(), n.GetName(),
			notes["internal.config.kubernetes.io/path"], notes["internal.config.kubernetes.io/index"])
	}
	return b.String()
}

// same are resources of which two have one id.
func same() []*yaml.RNode {
	return []*yaml.RNode{
		stood("ConfigMap", "a", "a.yaml", "0"), stood("Secret", "s", "a.yaml", "1"),
		stood("ConfigMap", "a", "sub/b.yaml", "0"), stood("Secret", "t", "sub/deep/c.yaml", "0"),
		stood("ConfigMap", "x", "subway/d.yaml", "0"),
	}
}

const untouched = "ConfigMap a a.yaml 0\nSecret s a.yaml 1\nConfigMap a sub/b.yaml 0\nSecret t sub/deep/c.yaml 0\nConfigMap x subway/d.yaml 0\n"

func TestSequence(t *testing.T) {
	t.Parallel()
	sub := pipeline.Selection{Dir: "sub"}
	pkg := pipeline.Selection{Dir: "sub", Relative: true}
	type list = []*yaml.RNode
	for _, c := range []struct {
		name string
		only pipeline.Selection
		do   func(list) list
		sees string
		want string
	}{
		{"nothing changes", pipeline.Selection{}, func(l list) list { return l }, untouched, untouched},
		{
			"a directory, but no other that begins so", sub, func(l list) list { return l[:1] },
			"ConfigMap a sub/b.yaml 0\nSecret t sub/deep/c.yaml 0\n",
			"ConfigMap a a.yaml 0\nSecret s a.yaml 1\nConfigMap a sub/b.yaml 0\nConfigMap x subway/d.yaml 0\n",
		},
		{
			"a package", pkg, func(l list) list { put(l[0], "new/b.yaml", ""); return l },
			"ConfigMap a b.yaml 0\nSecret t deep/c.yaml 0\n", strings.Replace(untouched, "sub/b.yaml", "sub/new/b.yaml", 1),
		},
		{
			"a kind", pipeline.Selection{Selection: pipeline.Selectors{Selectors: []pipeline.Selector{{Kind: "Secret"}}}}, func(l list) list { slices.Reverse(l); return l },
			"Secret s a.yaml 1\nSecret t sub/deep/c.yaml 0\n", untouched,
		},
		{
			"several, but one", pipeline.Selection{Selection: pipeline.Selectors{Selectors: []pipeline.Selector{{Kind: "Secret", Name: "s"}, {Kind: "ConfigMap"}}, Exclude: []pipeline.Selector{{Name: "x"}}}},
			func(list) list { return nil },
			"ConfigMap a a.yaml 0\nSecret s a.yaml 1\nConfigMap a sub/b.yaml 0\n", "Secret t sub/deep/c.yaml 0\nConfigMap x subway/d.yaml 0\n",
		},
		{
			"an annotation that is there", pipeline.Selection{Selection: pipeline.Selectors{Selectors: []pipeline.Selector{{Annotations: map[string]string{"internal.config.kubernetes.io/index": "1"}}}}},
			func(l list) list { return l }, "Secret s a.yaml 1\n", untouched,
		},
		{"a label that is not there", pipeline.Selection{Selection: pipeline.Selectors{Selectors: []pipeline.Selector{{Labels: map[string]string{"a": ""}}}}}, func(l list) list { return l }, "", untouched},
		{
			"a renamed resource keeps its place", sub, func(l list) list {
				slices.Reverse(l)
				return append(l[1:], stood("Secret", "new", "sub/deep/c.yaml", "0"))
			},
			"ConfigMap a sub/b.yaml 0\nSecret t sub/deep/c.yaml 0\n", strings.Replace(untouched, "Secret t", "Secret new", 1),
		},
		{
			"what lost its annotations has its file", pipeline.Selection{}, func(l list) list {
				for _, n := range l {
					lose(n)
				}
				return l
			}, untouched, untouched,
		},
		{
			"a copy is new", pipeline.Selection{}, func(l list) list { return append(list{l[0].Copy()}, l...) }, untouched,
			untouched + "ConfigMap a a.yaml 0\n",
		},
		{
			"new ones come last", pkg, func(l list) list {
				return append(list{yaml.MustParse("{apiVersion: v1, kind: Pod, metadata: {name: ../p, namespace: ..}}"), stood("Pod", "q", "q.yaml", "")}, l...)
			},
			"ConfigMap a b.yaml 0\nSecret t deep/c.yaml 0\n", untouched + "Pod ../p sub/__/pod_.._p.yaml \nPod q sub/q.yaml \n",
		},
		{
			"a new one in a directory", sub, func(l list) list {
				return append(l, yaml.MustParse("{apiVersion: v1, kind: Pod, metadata: {name: p}}"), stood("Pod", "q", "q.yaml", ""))
			},
			"ConfigMap a sub/b.yaml 0\nSecret t sub/deep/c.yaml 0\n", untouched + "Pod p sub/pod_p.yaml \nPod q q.yaml \n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, known := range []bool{true, false} { // whether the caller knows which resource is which
				saw := ""
				of := pipeline.Sequence{Kind: "Files", Steps: []pipeline.Step{{Role: pipeline.Transformer, Only: c.only}}}
				got, err := itemsOf(of.On(same()).Build)(t.Context(), func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
					saw = listed(items)
					out := c.do(items)
					for i, n := range out {
						if !known {
							out[i] = n.Copy()
						}
					}
					return out, nil
				})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.sees, saw); diff != "" {
					t.Errorf("the function sees: %s", diff)
				}
				if diff := cmp.Diff(c.want, listed(got)); diff != "" {
					t.Errorf("known: %v: %s", known, diff)
				}
			}
		})
	}
}

// A resource that was renamed and moved keeps its place in the order, if the caller knows it.
func TestSequenceKeepsKnown(t *testing.T) {
	t.Parallel()
	of := pipeline.Sequence{Steps: []pipeline.Step{{Role: pipeline.Transformer}, {Role: pipeline.Validator}}}
	got, err := itemsOf(of.On(same()).Build)(t.Context(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		if i == 0 {
			*items[1] = *stood("Secret", "new", "./x/../new.yaml", "")
		}
		return items, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Replace(untouched, "Secret s a.yaml 1", "Secret new new.yaml ", 1), listed(got)); diff != "" {
		t.Error(diff)
	}
}

func TestSequenceRefuses(t *testing.T) {
	t.Parallel()
	pkg := pipeline.Selection{Dir: "sub", Relative: true}
	for _, c := range []struct {
		only pipeline.Selection
		role pipeline.Role
		out  string
		want string
	}{
		{pipeline.Selection{}, pipeline.Transformer, "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {config.kubernetes.io/path: /etc/p.yaml}}}", "it set the path of v1 Pod p to /etc/p.yaml, which is outside of the directory"},
		{pipeline.Selection{}, pipeline.Transformer, "{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {internal.config.kubernetes.io/path: a/../../p.yaml}}}", "outside of the directory"},
		{pkg, pipeline.Transformer, "{apiVersion: v1, kind: Secret, metadata: {name: t, annotations: {internal.config.kubernetes.io/path: ../p.yaml}}}", "it set the path of v1 Secret t to ../p.yaml"},
		{pkg, pipeline.Transformer, "{apiVersion: v1, metadata: {name: p}}", "something without a kind"},
		{pkg, pipeline.Transformer, "{kind: Pod, metadata: {name: p}}", "a Pod without an apiVersion"},
		{pkg, pipeline.Transformer, "{apiVersion: v1, kind: Pod}", "a Pod without a name"},
		{pkg, pipeline.Transformer, "{apiVersion: v1, kind: Pod, metadata: [a]}", "metadata is a mapping"},
		{pkg, pipeline.Validator, "{apiVersion: v1, kind: Pod, metadata: {name: p}}", "must not add resources"},
		{pkg, pipeline.Validator, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {}}", "must not change resources"},
	} {
		of := pipeline.Sequence{Steps: []pipeline.Step{{Role: c.role, Only: c.only}}}
		got, err := itemsOf(of.On(same()).Build)(t.Context(), func(_ context.Context, _ int, items []*yaml.RNode) ([]*yaml.RNode, error) {
			return append(items, yaml.MustParse(c.out)), nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) || got != nil {
			t.Errorf("%s: got %v and %s", c.out, err, listed(got))
		}
	}
}

// A validator changes nothing, not even by writing into what it gets.
func TestSequenceValidates(t *testing.T) {
	t.Parallel()
	of := pipeline.Sequence{Steps: []pipeline.Step{
		{Role: pipeline.Validator, Only: pipeline.Selection{Dir: "sub", Relative: true}}, {Role: pipeline.Validator},
	}}
	got, err := itemsOf(of.On(same()).Build)(t.Context(), func(_ context.Context, i int, items []*yaml.RNode) ([]*yaml.RNode, error) {
		if i == 0 {
			if diff := cmp.Diff("ConfigMap a b.yaml 0\nSecret t deep/c.yaml 0\n", listed(items)); diff != "" {
				t.Error(diff)
			}
		}
		out := slices.Clone(items[1:])
		for j, n := range out {
			out[j] = n.Copy()
			lose(n)
		}
		return out, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(untouched, listed(got)); diff != "" {
		t.Error(diff)
	}
}
