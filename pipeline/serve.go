package pipeline

import (
	"context"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
)

// serve answers the bridge: it parses what kustomize hands over once, runs every Step of
// the run, and prints once.
func (a *applied) serve(c *rewrite.Compiled) bridge.Serve {
	a.bridge = c
	return func(ctx context.Context, n bridge.Run, in []byte) (bridge.Response, error) {
		r := c.Run(n)
		if r == nil {
			return bridge.Response{}, fmt.Errorf("there is no run %d of steps", n)
		}
		items, err := parseItems(in)
		if err != nil {
			return bridge.Response{}, fmt.Errorf("reading the resources that kustomize hands over: %w", err)
		}
		recorded, err := c.Show(items)
		if err != nil {
			return bridge.Response{}, err
		}
		items, back, err := a.runAll(ctx, r, items)
		if err != nil || a.validates(r) {
			return bridge.Response{Unchanged: true}, err
		}
		recorded.Hide(items)
		out, err := printItems(items)
		return bridge.Response{Items: out, Returned: back}, err
	}
}

// runAll applies the Steps of a run, one after the other. back are resources that were
// there, were dropped, and came back.
func (a *applied) runAll(ctx context.Context, r *rewrite.Run, items []*yaml.RNode) (out []*yaml.RNode, back map[resource.ID]bool, err error) {
	last := a.steps[r.Steps[len(r.Steps)-1]]
	switch r.As {
	case Generator:
		out, err := a.pipeline(ctx, r, nil)
		if err != nil {
			return nil, nil, err
		}
		for _, n := range out {
			// kustomize takes the id away from what transformers return, and not here.
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

// cameBack notes which of the given resources are gone now, and which were and are not.
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

// validates tells whether what a run makes of the resources is of no account.
func (a *applied) validates(r *rewrite.Run) bool {
	return r.As == Validator || a.steps[r.Steps[0]].Role == Validator
}
