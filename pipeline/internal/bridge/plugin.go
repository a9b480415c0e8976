package bridge

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	_ "unsafe" // for go:linkname

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/resource"
)

// transformers are the builtin transformers of kustomize by their number. Number 0 is that of every
// kind that kustomize does not know, and none is there. kustomize has no exported way to add a
// transformer that is part of the process (docs/adr/0028, docs/upstream.md).
//
//go:linkname transformers sigs.k8s.io/kustomize/api/internal/plugins/builtinhelpers.TransformerFactories
var transformers map[int]func() resmap.TransformerPlugin //nolint:gochecknoglobals // kustomize's

// unknown is the number of the kinds that kustomize does not know.
const unknown = 0

// Run is the number of a run of Steps.
type Run int

// The kind of the configs of runs. To kustomize it is a builtin that it does not know.
const (
	stepKind       = "Step"
	stepAPIVersion = "builtin"
)

// stepNames are the names of the configs of runs, by number.
const stepNames = "step-%d"

// StepConfig is the config of run r, on one line, as kustomize reads it.
func StepConfig(r Run) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"run":%d}`+"\n", stepAPIVersion, stepKind, fmt.Sprintf(stepNames, r), r)
}

// RunOf reports the run of a config that StepConfig made, by what kustomize records of it.
func RunOf(id yaml.ResourceIdentifier) (run Run, ok bool) {
	if id.APIVersion != stepAPIVersion || id.Kind != stepKind {
		return 0, false
	}
	_, err := fmt.Sscanf(id.Name, stepNames, &run)
	return run, err == nil
}

// Serve answers one run of Steps: in are the resources that kustomize hands over, as YAML, nil for a
// generator.
type Serve func(ctx context.Context, run Run, in []byte) (Response, error)

// Response is what a run of Steps makes of the resources.
type Response struct {
	Items []byte // the resources, as YAML
	// Unchanged is set for validators: the resources stay as they are, and Items does not count.
	Unchanged bool
	// Returned are resources that the run dropped and brought back. They come last.
	Returned map[resource.ID]bool
}

// steps are the Steps of one build.
type steps struct {
	ctx   context.Context //nolint:containedctx // krusty takes none, and calls plugins without
	serve Serve

	failed   error // the first error of serve: kustomize keeps of some errors the text alone
	returned error // the first of what serve returned
}

// install has kustomize find the Steps until uninstall. Only one build runs at a time.
func (s *steps) install() (uninstall func()) {
	transformers[unknown] = func() resmap.TransformerPlugin { return &plugin{steps: s} }
	return func() { delete(transformers, unknown) }
}

func (s *steps) call(run Run, in []byte) (r Response, err error) {
	if s.ctx.Err() != nil {
		return Response{}, context.Cause(s.ctx)
	}
	defer func() {
		// kyaml panics on some resources, and kustomize would be blamed for it.
		if p := recover(); p != nil {
			err = fmt.Errorf("a step stopped with an internal error: %v", p)
		}
		if s.failed == nil {
			s.failed = err
		}
	}()
	return s.serve(s.ctx, run, in)
}

// unfit records that kustomize cannot take what a Step returned.
func (s *steps) unfit(err error) error {
	if s.returned == nil {
		s.returned = err
	}
	return err
}

// plugin is one run of Steps, as kustomize calls it: a resmap.TransformerPlugin that is a
// resmap.GeneratorPlugin too. It does what kustomize's plugin for programs does, in the process and
// without comparing each id with every other.
type plugin struct {
	steps   *steps
	run     Run
	helpers *resmap.PluginHelpers
}

// Config implements resmap.Configurable.
func (p *plugin) Config(h *resmap.PluginHelpers, config []byte) error {
	var c struct {
		Kind string `json:"kind"`
		Run  *Run   `json:"run"`
	}
	if err := k8syaml.Unmarshal(config, &c); err != nil {
		return fmt.Errorf("reading a step: %w", err)
	}
	if c.Kind != stepKind || c.Run == nil {
		return fmt.Errorf("there is no builtin %q: %w", c.Kind, errNoStep)
	}
	p.helpers, p.run = h, *c.Run
	return nil
}

// String is how kustomize names the run in an error about what it generated.
func (p *plugin) String() string { return fmt.Sprintf(stepNames, p.run) }

var errNoStep = errors.New("it is no step")

// Generate implements resmap.Generator.
func (p *plugin) Generate() (resmap.ResMap, error) {
	r, err := p.steps.call(p.run, nil)
	if err != nil {
		return nil, err
	}
	m, err := p.helpers.ResmapFactory().NewResMapFromBytes(r.Items)
	if err == nil {
		err = options(m)
	}
	return m, p.steps.unfit(err)
}

// options reads and removes them.
func options(m resmap.ResMap) error {
	for _, r := range m.Resources() {
		notes := r.GetAnnotations()
		behavior, hash := notes[resource.BehaviorKey], false
		if text, ok := notes[resource.HashKey]; ok {
			var err error
			if hash, err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("the annotation %s of %s: %w", resource.HashKey, r.CurId(), err)
			}
		}
		delete(notes, resource.HashKey)
		delete(notes, resource.BehaviorKey)
		if err := r.SetAnnotations(notes); err != nil {
			return fmt.Errorf("writing the annotations of %s: %w", r.CurId(), err)
		}
		if hash {
			r.EnableHashSuffix()
		}
		r.SetBehavior(types.NewGenerationBehavior(behavior))
	}
	return nil
}

// Transform implements resmap.Transformer.
func (p *plugin) Transform(m resmap.ResMap) error {
	in, err := identified(m)
	if err != nil {
		return err
	}
	r, err := p.steps.call(p.run, in)
	if err != nil || r.Unchanged {
		return err
	}
	return p.steps.unfit(p.update(m, r))
}

// identified prints the resources with their current ids in an annotation.
func identified(m resmap.ResMap) ([]byte, error) {
	copies := m.DeepCopy()
	for _, r := range copies.Resources() {
		id, err := k8syaml.Marshal(r.CurId())
		if err != nil {
			return nil, fmt.Errorf("writing the id of %s: %w", r.CurId(), err)
		}
		notes := r.GetAnnotations()
		notes[resource.IDKey] = string(id)
		if err := r.SetAnnotations(notes); err != nil {
			return nil, fmt.Errorf("writing the id of %s: %w", r.CurId(), err)
		}
	}
	return copies.AsYaml()
}

// update puts what a run returned into the resources: what has a known id keeps its place, what is
// new comes last, and what is missing is removed.
func (p *plugin) update(m resmap.ResMap, response Response) error {
	returned, err := p.helpers.ResmapFactory().RF().SliceFromBytes(response.Items)
	if err != nil {
		return fmt.Errorf("reading it: %w", err)
	}
	places, kept := make(map[resource.ID]int, m.Size()), make(map[resource.ID]bool, len(returned))
	for i, r := range m.Resources() {
		places[resource.FromResID(r.CurId())] = i
	}
	var last []int
	for i, r := range returned {
		notes := r.GetAnnotations()
		delete(notes, resource.IDKey)
		if err := r.SetAnnotations(notes); err != nil {
			return fmt.Errorf("writing the annotations of %s: %w", r.CurId(), err)
		}
		id := resource.FromResID(r.CurId())
		if kept[id] {
			return fmt.Errorf("%w: %s", errTwice, r.CurId())
		}
		at, known := places[id]
		if !known || response.Returned[id] {
			last = append(last, i)
			continue
		}
		kept[id] = true
		m.GetByIndex(at).ResetRNode(r)
	}
	for _, r := range m.Resources() {
		if id := r.CurId(); !kept[resource.FromResID(id)] {
			if err := m.Remove(id); err != nil {
				return fmt.Errorf("removing a resource: %w", err)
			}
		}
	}
	for _, i := range last {
		if err := m.Append(returned[i]); err != nil {
			return fmt.Errorf("adding a resource: %w", err)
		}
	}
	return nil
}

var errTwice = errors.New("a step returned a resource twice")
