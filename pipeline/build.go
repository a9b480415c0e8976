package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// parseItems parses the documents that kustomize printed.
func parseItems(in []byte) ([]*yaml.RNode, error) {
	var items []*yaml.RNode
	dec := yaml.NewDecoder(bytes.NewReader(in))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		if !yaml.IsYNodeEmptyDoc(&n) {
			items = append(items, yaml.NewRNode(n.Content[0]))
		}
	}
}

// printItems prints documents for kustomize.
func printItems(items []*yaml.RNode) ([]byte, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	for _, n := range items {
		if err := enc.Encode(n.YNode()); err != nil {
			return nil, fmt.Errorf("printing resources for kustomize: %w", err)
		}
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("printing resources for kustomize: %w", err)
	}
	return out.Bytes(), nil
}

// target implements Target.
type target struct{ *rewrite.Compiled }

// Build implements Target.
func (t *target) Build(ctx context.Context, apply Apply) ([]*yaml.RNode, error) {
	steps := newApplied(t.Steps(), apply)
	var items []*yaml.RNode
	var err error
	for _, s := range t.Stages {
		if len(s.Files) > 0 {
			items, err = t.accumulate(items, s.Files)
		} else if err = steps.identify(s.Step, items); err == nil {
			items, err = steps.run(ctx, s.Step, items)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, n := range items {
		// All annotations are printed as strings, as kustomize does.
		notes := n.GetAnnotations()
		maps.DeleteFunc(notes, func(key, _ string) bool { return resource.Orchestration(key) })
		if err := n.SetAnnotations(notes); err != nil {
			return nil, fmt.Errorf("writing the annotations of %s: %w", resource.IDOf(n), err)
		}
	}
	if !t.NeedsKustomize() {
		// kustomize drops local configs, unless the annotation is "false".
		return slices.DeleteFunc(items, func(n *yaml.RNode) bool {
			v, local := n.GetAnnotations()[fnconfig.LocalConfigKey]
			return local && v != "false"
		}), steps.missing()
	}
	given, err := printItems(items)
	if err != nil {
		return nil, err
	}
	return t.kustomize(ctx, given, steps)
}

// kustomize runs kustomize on the rest of the target. given is the result of the Stages.
func (t *target) kustomize(ctx context.Context, given []byte, steps *applied) ([]*yaml.RNode, error) {
	items, err := t.evaluate(ctx, given, steps)
	if err != nil {
		return nil, err
	}
	if err := steps.missing(); err != nil {
		return nil, err
	}
	for _, n := range items {
		if err := t.Finish(n); err != nil {
			return nil, err
		}
	}
	return items, nil
}

func (t *target) evaluate(ctx context.Context, given []byte, steps *applied) ([]*yaml.RNode, error) {
	b, err := t.Tree()
	if err != nil {
		return nil, err
	}
	if t.Given != "" {
		b.Tree.Files[t.Given] = given
	}
	b.Serve = steps.serve(t.Compiled)
	items, err := evaluate(ctx, b)
	var failed *bridge.Failure
	if errors.As(err, &failed) {
		err = t.Explain(failed)
	}
	var unbuilt *BuildError
	if errors.As(err, &unbuilt) {
		return nil, steps.attribute(unbuilt)
	}
	return items, err
}

// evaluate runs kustomize on a tree.
func evaluate(ctx context.Context, b bridge.Build) ([]*yaml.RNode, error) {
	m, err := b.Run(ctx)
	if err != nil {
		return nil, err
	}
	return m.ToRNodeSlice(), nil
}

// accumulate appends the resources of files. As in kustomize, a resource that exists already is an
// error.
func (t *target) accumulate(items []*yaml.RNode, files []source.FileRef) ([]*yaml.RNode, error) {
	seen := make(map[resource.ID]bool, len(items))
	for _, n := range items {
		seen[resource.IDOf(n)] = true
	}
	for _, f := range files {
		docs, err := t.Resources(f)
		if err != nil {
			return nil, err
		}
		for _, d := range docs {
			n := yaml.NewRNode(d.Node)
			id := resource.IDOf(n)
			if id.Kind == "" || id.Name == "" {
				return nil, d.Errorf(d.Node, "a resource needs a kind and a metadata.name")
			}
			if seen[id] {
				return nil, d.Errorf(d.Node, "%s is there already", id)
			}
			seen[id] = true
			items = append(items, n)
		}
	}
	return items, nil
}
