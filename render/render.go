package render

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// Options say what is rendered and what the user allows.
type Options struct {
	Dir    string // the target
	Target pipeline.Options
	// Trusted are the catalogs the user trusts, as written: --trusted-catalog.
	Trusted []string
	// ConfigTrusted are the catalogs that the user's config file trusts where a target declares
	// them.
	ConfigTrusted []TrustedCatalog
	// Official is the catalog that is compiled in: searched first and trusted without a flag
	// (KEP-2906). Empty for none.
	Official string
	// WorkDir is what relative places in Trusted are relative to: an absolute path.
	WorkDir string
	// EnableAlphaPlugins allows runtimes that a functionConfig names itself.
	EnableAlphaPlugins bool
	// EnableExec allows programs that a functionConfig names itself.
	EnableExec bool
	// FailOn says which results of functions make the render fail.
	FailOn fnexec.FailOn
	Policy verify.Policy
	Allow  sandbox.Allow
}

// TrustedCatalog is one entry of the trusted catalogs in the user's config file.
type TrustedCatalog struct {
	Pattern reference.Pattern // a place, or a wildcard
	Where   string            // file:line
}

// Renderer is a set of ways to find and run functions.
type Renderer struct {
	Resolve  fnexec.ResolveFunc // registry.Client.Resolve
	Runtimes []fnexec.Runtime
	FS       filesys.FileSystem
	Methods  []verify.Method // which tell what signatures claim that no policy asks for
	Notify   func(Event)     // may be nil; called from several goroutines
}

// Output is what a render gives.
type Output struct {
	Items   []*yaml.RNode
	Records []Record // one for each call of a function, in order
	Kind    string   // of the target
}

// Record is one call of a function.
type Record struct {
	Step   pipeline.Step
	Kind   string        // of the runtime
	Ref    string        // what ran
	Output fnexec.Output // but the items
	Err    error         // why it failed, now or deferred; nil where it went well
}

// StepError is what went wrong with one function, and where it is asked for.
type StepError struct {
	Where string // file:line
	Name  string // "JavaApplication my-app"
	Err   error
}

func (e *StepError) Error() string { return e.Where + ": " + e.Name + ": " + e.Err.Error() }
func (e *StepError) Unwrap() error { return e.Err }

func stepError(s pipeline.Step, err error) error {
	if err == nil {
		return nil
	}
	return &StepError{Where: s.Where, Name: s.ID.Kind + " " + s.Name, Err: err}
}

// Plan reads the target and does all that comes before running a function: it finds, verifies
// and grants, and loads the programs of this machine. Where functions may not be used, the Plan
// says so beside the error, which is the one that Render would end with.
func (r *Renderer) Plan(ctx context.Context, o Options) (*Plan, error) {
	r = r.resolvingOnce()
	t, refused, err := r.load(ctx, o)
	if err != nil {
		return nil, err
	}
	steps, err := r.approve(ctx, o, t.Steps(), everyStep)
	if err != nil && steps == nil {
		return nil, all(append(refused, err))
	}
	return r.newPlan(ctx, t, steps, refused), all(append(refused, err))
}

// Render builds the target. Where a function fails, the Output holds the records of all
// that ran.
func (r *Renderer) Render(ctx context.Context, o Options) (Output, error) {
	r = r.resolvingOnce()
	if o.EnableExec && o.Allow.Confine != sandbox.ConfineOff { // there is hardly another reason to say so
		defer probeConfinement(ctx, o.Allow)()
	}
	t, refused, err := r.load(ctx, o)
	if err != nil {
		return Output{}, err
	}
	if err := pipeline.Ready(t); err != nil { // rather than when all is fetched
		return Output{}, all(append(refused, err))
	}
	how := untilRefusal
	if len(refused) > 0 {
		how = localRound // something was left out of the target: it is not built
	}
	trusted, err := r.approve(ctx, o, t.Steps(), how)
	if no := all(append(refused, err)); no != nil {
		return Output{}, no
	}
	loaded, err := r.ready(ctx, trusted)
	if err != nil {
		return Output{}, err
	}
	return r.run(ctx, o, t, loaded)
}

// load reads the target, and tells what a flag would permit in it and is not given: what is
// refused was left out. An error holds that too.
func (r *Renderer) load(ctx context.Context, o Options) (t pipeline.Target, refused []error, err error) {
	r.event(Event{Phase: PhaseLoad, Text: o.Dir})
	o.Target.Warn = func(w pipeline.Warning) {
		r.event(Event{Phase: PhaseLoad, Text: w.Msg, Where: w.Where, Warning: true})
	}
	o.Target.Refused = func(err error) { refused = append(refused, err) }
	if t, err = pipeline.Load(ctx, r.FS, o.Dir, o.Target); err != nil {
		return nil, nil, all(append(refused, err))
	}
	return t, refused, nil
}

// resolvingOnce is the Renderer for one run, in which every reference is resolved a single
// time.
func (r *Renderer) resolvingOnce() *Renderer {
	run := *r
	run.Resolve = (&resolveOnce{resolve: r.Resolve}).do
	return &run
}

// runtime finds a way of running by its kind.
func (r *Renderer) runtime(kind string) (fnexec.Runtime, error) {
	var known []string
	for _, rt := range r.Runtimes {
		if rt.Kind() == kind {
			return rt, nil
		}
		known = append(known, rt.Kind())
	}
	return nil, &UnknownRuntimeError{Kind: kind, Known: known}
}

// UnknownRuntimeError says that krmcat has no such way of running functions.
type UnknownRuntimeError struct {
	Kind  string
	Known []string
}

func (e *UnknownRuntimeError) Error() string {
	return fmt.Sprintf("there is no runtime %q (there are %v)", e.Kind, e.Known)
}

// all joins the errors of a phase, so that every refusal is reported at once.
func all(errs []error) error { return errors.Join(errs...) }
