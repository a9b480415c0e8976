package pipeline

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
)

// serve returns what the bridge calls for a run: it parses the resources of kustomize once, runs
// every Step of the run, and prints the result once.
func (a *applied) serve(c *rewrite.Compiled) bridge.Serve {
	a.bridge = c
	return func(ctx context.Context, n bridge.Run, in bridge.Request) (bridge.Response, error) {
		r := c.Run(n)
		if r == nil {
			return bridge.Response{}, fmt.Errorf("there is no run %d of steps", n)
		}
		items, err := parseItems(in.Items)
		if err != nil {
			return bridge.Response{}, fmt.Errorf("reading the resources of kustomize: %w", err)
		}
		recorded, err := c.Show(items)
		if err != nil {
			return bridge.Response{}, err
		}
		filed := a.filed(r)
		a.files.enter(filed, items, in.Files)
		items, back, err := a.runAll(ctx, r, items)
		if err != nil || a.validates(r) {
			return bridge.Response{Unchanged: true}, err
		}
		recorded.Hide(items)
		files := a.files.leave(filed, items)
		out, err := printItems(items)
		return bridge.Response{Items: out, Returned: back, Files: files}, err
	}
}

// runAll applies the Steps of a run, one after the other. back are given resources that a Step
// dropped and a later one returned.
func (a *applied) runAll(ctx context.Context, r *rewrite.Run, items []*yaml.RNode) (out []*yaml.RNode, back map[resource.ID]bool, err error) {
	last := a.steps[r.Steps[len(r.Steps)-1]]
	switch r.As {
	case Generator:
		out, err := a.pipeline(ctx, r, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range out {
			// kustomize removes the id from the output of transformers, but not from that of
			// generators.
			if err := resource.Clean(n, func(key string) bool { return key == resource.IDKey }); err != nil {
				return nil, nil, err
			}
		}
		a.made = resource.IDsOf(out)
		return out, nil, generated(last, out)
	case Validator:
		return items, nil, a.validate(last, items, func(copies []*yaml.RNode) ([]*yaml.RNode, error) {
			return a.pipeline(ctx, r, copies)
		})
	case Transformer:
	}
	given, gone := resource.IDsOf(items), map[resource.ID]bool{}
	back = map[resource.ID]bool{}
	for n, i := range r.Steps {
		if n > 0 {
			if err := a.identify(i, items); err != nil {
				return nil, nil, err
			}
		}
		if items, err = a.run(ctx, i, items); err != nil {
			return nil, nil, err
		}
		if len(r.Steps) > 1 {
			cameBack(given, resource.IDsOf(items), gone, back)
		}
	}
	return items, back, nil
}

// cameBack records which of the given resources are missing now, and which were missing before and
// are not now.
func cameBack(given, now, gone, back map[resource.ID]bool) {
	for id := range given {
		switch {
		case !now[id]:
			gone[id] = true
			delete(back, id)
		case gone[id]:
			back[id] = true
		}
	}
}

// validates reports whether the output of a run is discarded.
func (a *applied) validates(r *rewrite.Run) bool {
	return r.As == Validator || a.steps[r.Steps[0]].Role == Validator
}
