package pipeline

import (
	"context"
	"fmt"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/rewrite"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// orderError says that one Step of a run dropped a resource and a later one brought it back.
// It comes last then, and kustomize, which sees only the end of the run, would leave it in
// its place: it has to be told of the run in two Steps, of which the first leaves out what
// came back. The build starts anew then, and what was said before is said again: no function
// runs twice.
type orderError struct{ run int }

func (*orderError) Error() string { return "a resource was dropped and came back" }

// saying is one call of a run, by the number of the call.
type saying struct{ run, call int }

// answer is what a run made of the resources: at its end, and without what came back.
type answer struct{ full, first []byte }

// serve answers the bridge: it parses what kustomize hands over once, runs every Step of
// the run, and prints once.
func (a *applied) serve(c *rewrite.Compiled) bridge.Serve {
	a.bridged = true
	calls := map[int]int{}
	rest := map[int][]byte{} // of runs in two Steps
	return func(ctx context.Context, n int, in []byte) ([]byte, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if first, second := c.SecondOf(n); second {
			return rest[first], nil
		}
		r, ok := c.Run(n)
		if !ok {
			return nil, fmt.Errorf("there is no run %d of steps", n)
		}
		call := saying{n, calls[n]}
		calls[n]++
		said, again := a.said[call]
		if !again {
			var err error
			if said, err = a.answer(ctx, c, r, in); err != nil {
				return nil, err
			}
			a.said[call] = said
		}
		rest[n] = said.full
		switch {
		case said.first == nil:
			return said.full, nil
		case !c.IsSplit(n):
			return nil, &orderError{n}
		}
		return said.first, nil
	}
}

// answer runs the Steps of a run.
func (a *applied) answer(ctx context.Context, c *rewrite.Compiled, r rewrite.Run, in []byte) (answer, error) {
	items, err := parseItems(in)
	if err != nil {
		return answer{}, fmt.Errorf("reading the resources that kustomize hands over: %w", err)
	}
	recorded, err := c.Show(items)
	if err != nil {
		return answer{}, err
	}
	items, back, err := a.runAll(ctx, r, items)
	if err != nil {
		return answer{}, err
	}
	recorded.Hide(items)
	if a.validates(r) {
		// kustomize compares what a validator returns node by node, down to line numbers,
		// and does not see what is missing: nothing is the one answer that changes nothing.
		return answer{}, nil
	}
	full, err := printItems(items)
	if err != nil || len(back) == 0 {
		return answer{full: full}, err
	}
	var stayed []*yaml.RNode
	for _, n := range items {
		if !back[resource.IDOf(n)] {
			stayed = append(stayed, n)
		}
	}
	first, err := printItems(stayed)
	return answer{full: full, first: append([]byte{}, first...)}, err
}

// runAll applies the Steps of a run, one after the other. back are resources that were
// there, were dropped, and came back.
func (a *applied) runAll(ctx context.Context, r rewrite.Run, items []*yaml.RNode) (out []*yaml.RNode, back map[resource.ID]bool, err error) {
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
func (a *applied) validates(r rewrite.Run) bool {
	return r.As == Validator || a.steps[r.Steps[0]].Role == Validator
}
