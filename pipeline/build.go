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

	"github.com/krmcat/krmcat/internal/annotation"
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
func (t *target) Build(ctx context.Context, apply Apply) (Built, error) {
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
			return Built{}, err
		}
	}
	files := bridge.Files{}
	for _, n := range items {
		if f := annotation.FileOf(n.YNode()); f.Path != "" {
			files[resource.IDOf(n)] = f
		}
		// All annotations are printed as strings, as kustomize does.
		notes := n.GetAnnotations()
		maps.DeleteFunc(notes, func(key, _ string) bool { return resource.Orchestration(key) })
		if err := n.SetAnnotations(notes); err != nil {
			return Built{}, fmt.Errorf("writing the annotations of %s: %w", resource.IDOf(n), err)
		}
	}
	if !t.NeedsKustomize() {
		// kustomize drops local configs, unless the annotation is "false".
		items = slices.DeleteFunc(items, func(n *yaml.RNode) bool {
			v, local := n.GetAnnotations()[fnconfig.LocalConfigKey]
			return local && v != "false"
		})
		return builtOf(items, files), steps.missing()
	}
	given, err := printItems(items)
	if err != nil {
		return Built{}, err
	}
	steps.given = files
	return t.kustomize(ctx, given, steps)
}

// builtOf returns resources with their files.
func builtOf(items []*yaml.RNode, files bridge.Files) Built {
	b := Built{Items: items, Files: make([]File, len(items))}
	for i, n := range items {
		if len(files) > 0 {
			b.Files[i] = files[resource.IDOf(n)]
		}
	}
	return b
}

// kustomize runs kustomize on the rest of the target. given is the result of the Stages.
func (t *target) kustomize(ctx context.Context, given []byte, steps *applied) (Built, error) {
	built, err := t.evaluate(ctx, given, steps)
	if err != nil {
		return Built{}, err
	}
	if err := steps.missing(); err != nil {
		return Built{}, err
	}
	for _, n := range built.Items {
		if err := t.Finish(n); err != nil {
			return Built{}, err
		}
	}
	return built, nil
}

func (t *target) evaluate(ctx context.Context, given []byte, steps *applied) (Built, error) {
	b, err := t.Tree()
	if err != nil {
		return Built{}, err
	}
	if t.Given != "" {
		b.Tree.Files[t.Given] = given
	}
	b.Serve = steps.serve(t.Compiled)
	b.Files = func(n bridge.Run) (bridge.Files, error) { return t.FilesRead(n, steps.given) }
	built, err := b.Run(ctx)
	var failed *bridge.Failure
	if errors.As(err, &failed) {
		err = t.Explain(failed)
	}
	var unbuilt *BuildError
	if errors.As(err, &unbuilt) {
		return Built{}, steps.attribute(unbuilt)
	}
	if err != nil {
		return Built{}, err
	}
	return builtOf(built.Resources.ToRNodeSlice(), built.Files), nil
}

// evaluate runs kustomize on a tree.
func evaluate(ctx context.Context, b bridge.Build) ([]*yaml.RNode, error) {
	built, err := b.Run(ctx)
	if err != nil {
		return nil, err
	}
	return built.Resources.ToRNodeSlice(), nil
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
			annotation.SetFile(d.Node, t.FileOf(f, d))
			items = append(items, n)
		}
	}
	return items, nil
}
