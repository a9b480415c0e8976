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

// transformers contains the builtin transformers of kustomize by number. Every kind that kustomize
// does not know has the number 0, for which kustomize has no transformer. kustomize has no exported
// way to add a transformer that runs in the process (docs/adr/0028, docs/upstream.md).
//
//go:linkname transformers sigs.k8s.io/kustomize/api/internal/plugins/builtinhelpers.TransformerFactories
var transformers map[int]func() resmap.TransformerPlugin //nolint:gochecknoglobals // kustomize's variable

// unknown is the number of the kinds that kustomize does not know.
const unknown = 0

// Run is the number of a run of Steps.
type Run int

// The kind and apiVersion of the configs of runs. To kustomize this is an unknown builtin.
const (
	stepKind       = "Step"
	stepAPIVersion = "builtin"
)

// stepNames is the format of the names of the configs of runs: the number follows.
const stepNames = "step-%d"

// StepConfig returns the config of run r for kustomize, on one line.
func StepConfig(r Run) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"run":%d}`+"\n", stepAPIVersion, stepKind, fmt.Sprintf(stepNames, r), r)
}

// RunOf returns the run of a config that StepConfig made. id is what kustomize records of the
// config. ok is false for every other config.
func RunOf(id yaml.ResourceIdentifier) (run Run, ok bool) {
	if id.APIVersion != stepAPIVersion || id.Kind != stepKind {
		return 0, false
	}
	_, err := fmt.Sscanf(id.Name, stepNames, &run)
	return run, err == nil
}

// Serve executes one run of Steps.
type Serve func(ctx context.Context, run Run, in Request) (Response, error)

// Request is the input of a run of Steps.
type Request struct {
	Items []byte // the resources that kustomize passes, as YAML; nil for a generator
	Files Files  // the files of resources, as far as they are recorded
}

// Response is the result of a run of Steps.
type Response struct {
	Items []byte // the resources, as YAML
	// Unchanged is set for validators: the resources stay as they are, and Items is ignored.
	Unchanged bool
	// Returned contains the resources that one Step of the run removed and a later one added
	// again. They come last.
	Returned map[resource.ID]bool
	// Files are recorded for the resources that it names. The others keep what is recorded.
	Files Files
}

// steps serves the Steps of one build.
type steps struct {
	ctx   context.Context //nolint:containedctx // krusty takes no context
	serve Serve
	files func(Run) (Files, error)
	table *fileTable

	failed   error // the first error of serve: of some errors, kustomize keeps only the text
	returned error // the first error about resources that serve returned
}

// install makes kustomize use the Steps until uninstall is called. Only one build runs at a time.
func (s *steps) install() (uninstall func()) {
	transformers[unknown] = func() resmap.TransformerPlugin { return &plugin{steps: s} }
	return func() { delete(transformers, unknown) }
}

// call executes a run, and records the first error.
func (s *steps) call(run Run, in Request) (r Response, err error) {
	if s.ctx.Err() != nil {
		return Response{}, context.Cause(s.ctx)
	}
	defer func() {
		// kyaml panics on some resources. Without this, the error would name kustomize as the
		// cause.
		if p := recover(); p != nil {
			err = fmt.Errorf("a step stopped with an internal error: %v", p)
		}
		if s.failed == nil {
			s.failed = err
		}
	}()
	return s.serve(s.ctx, run, in)
}

// unfit records that kustomize cannot use what a Step returned.
func (s *steps) unfit(err error) error {
	if s.returned == nil {
		s.returned = err
	}
	return err
}

// plugin is one run of Steps, as kustomize calls it. It is a resmap.TransformerPlugin and also a
// resmap.GeneratorPlugin. It does the same as kustomize's plugin for exec functions, but in the
// process and without comparing each id with every other.
type plugin struct {
	steps   *steps
	run     Run
	files   bool // it records files, and runs no Steps
	helpers *resmap.PluginHelpers
}

// Config implements resmap.Configurable.
func (p *plugin) Config(h *resmap.PluginHelpers, config []byte) error {
	var c struct {
		Kind  string `json:"kind"`
		Run   *Run   `json:"run"`
		Files bool   `json:"files"`
	}
	if err := k8syaml.Unmarshal(config, &c); err != nil {
		return fmt.Errorf("reading a step: %w", err)
	}
	if c.Kind != stepKind || c.Run == nil {
		return fmt.Errorf("there is no builtin %q: %w", c.Kind, errNoStep)
	}
	p.helpers, p.run, p.files = h, *c.Run, c.Files
	return nil
}

// String returns the name of the run. kustomize prints it in an error about a resource that the
// run generated.
func (p *plugin) String() string { return fmt.Sprintf(stepNames, p.run) }

var errNoStep = errors.New("this is not a step")

// Generate implements resmap.Generator.
func (p *plugin) Generate() (resmap.ResMap, error) {
	r, err := p.steps.call(p.run, Request{})
	if err != nil {
		return nil, err
	}
	m, err := p.helpers.ResmapFactory().NewResMapFromBytes(r.Items)
	if err == nil {
		p.steps.table.record(m, r.Files)
		err = options(m)
	}
	return m, p.steps.unfit(err)
}

// options applies the annotations that set options of generated resources, behavior and hash
// suffix, and removes them.
func options(m resmap.ResMap) error {
	for _, r := range m.Resources() {
		annotations := r.GetAnnotations()
		behavior, hash := annotations[resource.BehaviorKey], false
		if text, ok := annotations[resource.HashKey]; ok {
			var err error
			if hash, err = strconv.ParseBool(text); err != nil {
				return fmt.Errorf("the annotation %s of %s: %w", resource.HashKey, r.CurId(), err)
			}
		}
		delete(annotations, resource.HashKey)
		delete(annotations, resource.BehaviorKey)
		if err := r.SetAnnotations(annotations); err != nil {
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
	if p.files {
		return p.read(m)
	}
	in, err := identified(m)
	if err != nil {
		return err
	}
	r, err := p.steps.call(p.run, Request{Items: in, Files: p.steps.table.all(m)})
	if err != nil || r.Unchanged {
		return err
	}
	err = p.update(m, r)
	if err == nil {
		p.steps.table.record(m, r.Files)
	}
	return p.steps.unfit(err)
}

// identified returns the resources as YAML, each with its current id in an annotation.
func identified(m resmap.ResMap) ([]byte, error) {
	copies := m.DeepCopy()
	for _, r := range copies.Resources() {
		id, err := k8syaml.Marshal(r.CurId())
		if err != nil {
			return nil, fmt.Errorf("writing the id of %s: %w", r.CurId(), err)
		}
		annotations := r.GetAnnotations()
		annotations[resource.IDKey] = string(id)
		if err := r.SetAnnotations(annotations); err != nil {
			return nil, fmt.Errorf("writing the id of %s: %w", r.CurId(), err)
		}
	}
	return copies.AsYaml()
}

// update replaces the resources by those that a run returned. A resource with a known id keeps its
// position, a new one is appended, and a missing one is removed.
func (p *plugin) update(m resmap.ResMap, response Response) error {
	returned, err := p.helpers.ResmapFactory().RF().SliceFromBytes(response.Items)
	if err != nil {
		return fmt.Errorf("reading the resources: %w", err)
	}
	positions, kept := make(map[resource.ID]int, m.Size()), make(map[resource.ID]bool, len(returned))
	for i, r := range m.Resources() {
		positions[resource.FromResID(r.CurId())] = i
	}
	var last []int
	for i, r := range returned {
		annotations := r.GetAnnotations()
		delete(annotations, resource.IDKey)
		if err := r.SetAnnotations(annotations); err != nil {
			return fmt.Errorf("writing the annotations of %s: %w", r.CurId(), err)
		}
		id := resource.FromResID(r.CurId())
		if kept[id] {
			return fmt.Errorf("%w: %s", errTwice, r.CurId())
		}
		at, known := positions[id]
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
