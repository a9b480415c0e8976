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
	// Load reads the target; nil for pipeline.Load of Dir.
	Load func(context.Context, pipeline.Options) (pipeline.Target, error)
	// Trusted are the values of --trusted-catalog.
	Trusted []string
	// ConfigTrusted are the catalogs that the user's config file trusts. They are used only if a
	// target declares them.
	ConfigTrusted []TrustedCatalog
	// Official is the catalog that is compiled in, "" for none. It is searched first and trusted
	// without a flag (KEP-2906).
	Official string
	// WorkDir is the absolute path that relative places in Trusted are relative to.
	WorkDir string
	// EnableAlphaPlugins permits runtimes that a functionConfig names itself.
	EnableAlphaPlugins bool
	// EnableExec permits programs that a functionConfig names itself.
	EnableExec bool
	// NoReplace keeps the images of a target that a trusted catalog replaces.
	NoReplace bool
	// FailOn says which results of functions fail the render.
	FailOn fnexec.FailOn
	Policy verify.Policy
	Allow  sandbox.Allow
}

// TrustedCatalog is one entry of the trusted catalogs in the user's config file.
type TrustedCatalog struct {
	Pattern reference.Pattern // a place, or a wildcard
	Where   string            // file:line
}

// Renderer finds, verifies and runs functions.
type Renderer struct {
	Resolve  fnexec.ResolveFunc // registry.Client.Resolve
	Runtimes []fnexec.Runtime
	FS       filesys.FileSystem
	Methods  []verify.Method // for signatures that no policy requires
	Notify   func(Event)     // may be nil; called from several goroutines
}

// Output is the result of a render.
type Output struct {
	Items   []*yaml.RNode
	Files   []pipeline.File // of each of Items: where it stands, or where a function put it
	Records []Record        // one for each call of a function, in order
	Kind    string          // kind of the target
}

// Record is one call of a function.
type Record struct {
	Step   pipeline.Step
	Kind   string        // of the runtime
	Ref    string        // reference of what ran
	Output fnexec.Output // without the items
	Err    error         // why it failed, also if deferred; nil for success
}

// StepError is the error of one function, with its position.
type StepError struct {
	Where string // file:line
	Name  string // "JavaApplication my-app"
	Err   error
}

// Error returns "WHERE: NAME: cause".
func (e *StepError) Error() string { return e.Where + ": " + e.Name + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *StepError) Unwrap() error { return e.Err }

func stepError(s pipeline.Step, err error) error {
	if err == nil {
		return nil
	}
	return &StepError{Where: s.Where, Name: stepTitle(s), Err: err}
}

// stepTitle names a Step for people.
func stepTitle(s pipeline.Step) string { return s.ID.Kind + " " + s.Name }

// Plan does everything that precedes running a function: it reads the target, finds, verifies and
// grants, and loads local programs. If functions are refused, it returns the Plan and the error
// that Render would return.
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

// Render builds the target. If a function fails, the Output has the records of all calls so far.
func (r *Renderer) Render(ctx context.Context, o Options) (Output, error) {
	r = r.resolvingOnce()
	if o.EnableExec && o.Allow.Confine != sandbox.ConfineOff { // a target with programs is likely
		defer probeConfinement(ctx, o.Allow)()
	}
	t, refused, err := r.load(ctx, o)
	if err != nil {
		return Output{}, err
	}
	if err := pipeline.Ready(t); err != nil { // before anything is fetched
		return Output{}, all(append(refused, err))
	}
	how := untilRefusal
	if len(refused) > 0 {
		how = localRound // the target is incomplete and is not built
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

// load reads the target. refused are the parts that were omitted because a flag is missing; an
// error includes them.
func (r *Renderer) load(ctx context.Context, o Options) (t pipeline.Target, refused []error, err error) {
	r.event(Event{Phase: PhaseLoad, Text: o.Dir})
	o.Target.Warn = func(w pipeline.Warning) {
		r.event(Event{Phase: PhaseLoad, Text: w.Msg, Where: w.Where, Warning: true})
	}
	o.Target.Refused = func(err error) { refused = append(refused, err) }
	load := o.Load
	if load == nil {
		load = func(ctx context.Context, of pipeline.Options) (pipeline.Target, error) {
			return pipeline.Load(ctx, r.FS, o.Dir, of)
		}
	}
	if t, err = load(ctx, o.Target); err != nil {
		return nil, nil, all(append(refused, err))
	}
	return t, refused, nil
}

// resolvingOnce returns a Renderer for one run, which resolves every reference once.
func (r *Renderer) resolvingOnce() *Renderer {
	run := *r
	run.Resolve = (&resolveOnce{resolve: r.Resolve}).do
	return &run
}

// runtime returns the runtime of a kind.
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

// UnknownRuntimeError reports a kind of runtime that krmcat does not have.
type UnknownRuntimeError struct {
	Kind  string
	Known []string
}

// Error lists the known kinds.
func (e *UnknownRuntimeError) Error() string {
	return fmt.Sprintf("there is no runtime %q (there are %v)", e.Kind, e.Known)
}

// all joins the errors of a phase, so that all refusals are reported together.
func all(errs []error) error { return errors.Join(errs...) }
