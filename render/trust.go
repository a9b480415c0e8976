package render

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// trusted is a function that may be used, with both keys.
type trusted struct {
	bound
	progress           progress
	key                verify.Trusted
	confinementChecked bool
	unreadable         bool // the load restrictor forbids reading its program
	artifact           registry.Artifact
	runner             fnexec.Runner // nil until it is loaded
	refused            []error       // why it may not be used, apart from unbound
}

// isRefused reports whether it may not be used.
func (t *trusted) isRefused() bool { return t.unbound != nil || len(t.refused) > 0 }

// refuse adds a reason.
func (t *trusted) refuse(err error) { t.refused = append(t.refused, stepError(t.step, err)) }

// progress is how far a Step has been processed.
type progress int

// The values of progress, in order.
const (
	asked    progress = iota // the target declares it
	found                    // its function was found, or is an error
	granted                  // its permissions were decided
	verified                 // its program was verified
)

// permit decides the permissions of every function, and refuses those that no program could
// satisfy. It makes no requests.
func (a *approval) permit(ctx context.Context) {
	for i := range a.steps {
		t := &a.steps[i]
		if t.progress != found {
			continue
		}
		t.progress = granted
		a.report(PhaseBind, t.bound, 0)
		if t.unbound != nil {
			continue
		}
		err := a.grantStep(&t.bound)
		if err != nil {
			t.refuse(err)
			t.unreadable = errors.As(err, new(*restrictedFileError))
		} else if err = a.foreseen(t.bound); err != nil {
			t.refuse(err)
		}
	}
	if a.confinementRefuses() {
		a.confine(ctx)
	}
}

// isLocal reports whether the program is on this machine.
func isLocal(n fnexec.Needs) bool { return n.Literal != nil || n.From.Local() }

// foreseen refuses a remote program that may not be used whatever its content is.
func (a *approval) foreseen(b bound) error {
	if isLocal(b.prepared.Needs) {
		return nil
	}
	return foresee(a.options, b)
}

// foresee refuses a program by what is known before it is fetched.
func foresee(o Options, b bound) error {
	n := b.prepared.Needs
	return verify.Foresee(verify.Subject{Artifact: registry.Artifact{From: n.From}, Promised: n.Promised}, o.Policy.Checkers(request(b))...)
}

// trust finds the program of every function and verifies it. In the local round, remote programs
// wait. Remote programs of refused Steps are not requested.
func (a *approval) trust(ctx context.Context) {
	if slices.ContainsFunc(a.steps, a.needsEngine) {
		defer probeConfinement(ctx, a.options.Allow)()
	}
	var g errgroup.Group
	g.SetLimit(parallel)
	var now []*trusted
	for i := range a.steps {
		t := &a.steps[i]
		here := isLocal(t.prepared.Needs)
		if t.progress != granted || t.unbound != nil || t.unreadable || !here && (a.catalogs.localOnly || t.isRefused()) {
			continue
		}
		g.Go(func() error {
			var err error
			if t.artifact, t.key, err = a.verify(ctx, a.options, t); err == nil && here && !t.isRefused() {
				err = a.loadLocal(ctx, t)
			}
			if err != nil {
				t.refuse(err)
			}
			return nil
		})
		t.progress, now = verified, append(now, t)
	}
	_ = g.Wait()
	for _, t := range now {
		before := len(t.warnings)
		for _, e := range t.allEvidence() {
			switch {
			case e.Audit:
				a.event(Event{Phase: PhaseTrust, Text: t.prepared.Needs.Title + ": " + e.Detail, Where: t.step.Where, Audit: true})
			case e.Warning != "":
				t.warn(fmt.Sprintf("%s: %s (%s)", t.prepared.Needs.Title, e.Warning, e.Detail))
			}
		}
		a.report(PhaseTrust, t.bound, before)
	}
}

// loadLocal loads a local program, so that one that is missing or invalid is refused in the local
// round. Images are not unpacked.
func (r *Renderer) loadLocal(ctx context.Context, t *trusted) error {
	if t.prepared.Needs.Use == verify.UseImage {
		return nil
	}
	return r.loadStep(ctx, t)
}

// needsEngine reports whether a function may be a process that is confined.
func (a *approval) needsEngine(t trusted) bool {
	n := t.prepared.Needs
	return n.Request.HostExec && a.options.Allow.Confine != sandbox.ConfineOff || n.Use == verify.UseImage
}

// grantStep decides the permissions of a function, if it was not done before.
func (a *approval) grantStep(b *bound) (err error) {
	if !b.grant.Valid() {
		b.grant, err = a.Renderer.grant(a.options, *b)
	}
	return err
}

// restrictedFileError is a refusal by the load restrictor, and possibly for further reasons: the
// file must not be read.
type restrictedFileError struct{ *sandbox.DeniedError }

// Unwrap returns the refusal.
func (e *restrictedFileError) Unwrap() error { return e.DeniedError }

// grant decides once, for everything: the flags that runtimes of a config need, and what the
// function requests.
func (r *Renderer) grant(o Options, b bound) (sandbox.Grant, error) {
	var refusals []sandbox.Refusal
	byFile := b.step.Inline != nil && b.step.Inline.Flag == "" // otherwise the user names the program
	if byFile && !o.EnableAlphaPlugins {
		refusals = append(refusals, sandbox.Refusal{
			Wants: "to run as its own config says, by " + b.step.Inline.Source, Flag: "--enable-alpha-plugins",
		})
	}
	if byFile && b.prepared.Needs.Request.HostExec && !o.EnableExec {
		refusals = append(refusals, sandbox.Refusal{Wants: "to run a program of this machine", Flag: "--enable-exec"})
	}
	restricted := r.outsideRestriction(o, b)
	if restricted != nil {
		refusals = append(refusals, *restricted)
	}
	g, err := o.Allow.Grant(b.prepared.Needs.Request)
	if len(refusals) == 0 {
		return g, err
	}
	denied := &sandbox.DeniedError{Refusals: refusals}
	if more, ok := err.(*sandbox.DeniedError); ok { //nolint:errorlint // Grant returns it as it is
		denied.Refusals = append(denied.Refusals, more.Refusals...)
	}
	if restricted != nil {
		return sandbox.Grant{}, &restrictedFileError{denied}
	}
	return sandbox.Grant{}, denied
}

// outsideRestriction refuses a file that a functionConfig names and that the load restrictor
// excludes; nil if it does not. It does not apply to a program found in PATH, which the user sets.
func (r *Renderer) outsideRestriction(o Options, b bound) *sandbox.Refusal {
	from := b.prepared.Needs.From
	if !restricted(b) {
		return nil
	}
	err := b.step.Beyond(r.FS, from.Name, o.Target)
	if err == nil {
		return nil
	}
	var out *pipeline.RestrictedError
	if errors.As(err, &out) {
		return &sandbox.Refusal{Wants: "the file " + from.Name, Flag: out.Flag(), Why: "it is not in or below " + out.Dir}
	}
	return &sandbox.Refusal{Wants: "the file " + from.Name, Why: err.Error()}
}

// restricted reports whether the load restrictor applies: to a local file that a functionConfig
// names, and not to one that the user names by a flag.
func restricted(b bound) bool {
	n := b.prepared.Needs
	return b.step.Inline != nil && b.step.Inline.Flag == "" && n.Literal == nil && n.From.Local() && filepath.IsAbs(n.From.Name)
}

// want returns what is expected at the place of the program. The load restrictor is applied again
// when the file is opened, because a link in the target could change meanwhile.
func (r *Renderer) want(o Options, b bound) (registry.Want, error) {
	want := b.prepared.Needs.Want
	if !restricted(b) {
		return want, nil
	}
	var err error
	want.Below, err = b.step.Bound(r.FS, o.Target)
	return want, err
}

// verify resolves the reference of a program and verifies the result.
func (r *Renderer) verify(ctx context.Context, o Options, t *trusted) (registry.Artifact, verify.Trusted, error) {
	n, ask := t.prepared.Needs, request(t.bound)
	if n.Look != nil && t.grant.Valid() {
		file, err := n.Look(ctx, t.grant)
		if err != nil {
			return registry.Artifact{}, verify.Trusted{}, err
		}
		n.From, ask.Also = file, []reference.Locator{file}
	}
	var artifact registry.Artifact
	switch {
	case n.Literal != nil:
		artifact = *n.Literal
	case inPlace(n) && !(filepath.IsAbs(n.From.Name) && o.Policy.ByDigest(ask)):
		artifact = registry.Artifact{From: n.From, Role: n.Want.Role}
	default:
		r.event(Event{Phase: PhaseTrust, Text: "resolving " + n.From.Display()})
		want, err := r.want(o, t.bound)
		if err == nil {
			artifact, err = r.Resolve(ctx, n.From, want)
		}
		if err != nil {
			return artifact, verify.Trusted{}, err
		}
	}
	key, err := verify.Verify(ctx, verify.Subject{Artifact: artifact, Promised: n.Promised, Inner: n.Inner}, o.Policy.Checkers(ask)...)
	if err == nil && n.Beside != nil {
		key, err = beside(ctx, o, ask, key, n.Beside)
	}
	return artifact, key, err
}

// inPlace reports whether a program runs from its file. Its content is then only read if a policy
// rule needs its digest. Scripts are always read.
func inPlace(n fnexec.Needs) bool {
	return n.InPlace && n.Use == verify.UseProgram && n.Promised == "" && n.From.Digest == ""
}

// beside verifies the files that a program uses in its directory, by the rules for each.
func beside(ctx context.Context, o Options, ask verify.Request, key verify.Trusted,
	list func(context.Context, verify.Trusted) ([]registry.Artifact, error),
) (verify.Trusted, error) {
	files, err := list(ctx, key)
	errs := []error{err}
	var keys []verify.Trusted
	for _, f := range files {
		ask.Ref, ask.Also = f.From, nil
		k, err := verify.Verify(ctx, verify.Subject{Artifact: f}, o.Policy.Checkers(ask)...)
		keys, errs = append(keys, k), append(errs, err)
	}
	return key.With(keys...), errors.Join(errs...)
}

// request returns the request to the policies about a runtime.
func request(b bound) verify.Request {
	n := b.prepared.Needs
	ask := verify.Request{
		Use: n.Use, Ref: n.From, By: b.by, ByCatalog: b.source != nil, Functions: []verify.Function{policyFunction(b.id())},
		Claimed: b.step.Inline != nil, Reach: reach(n),
	}
	if n.Literal != nil { // its place is the file that contains it
		ask.Ref = n.From.At(b.step.Dir)
	}
	if b.source != nil {
		ask.Catalog = b.source.catalogEvidence()
	}
	if b.step.Inline != nil && (n.InPlace || n.Literal != nil) {
		ask.Flag = "--enable-alpha-plugins"
		if n.Request.HostExec {
			ask.Flag = "--enable-exec"
		}
		ask.Flag = cmp.Or(b.step.Inline.Flag, ask.Flag)
	}
	return ask
}

// id returns the function as the catalog has it, because a functionConfig may name the function of
// another kind; and by the functionConfig if no catalog names its runtime.
func (b *bound) id() catalog.FunctionID {
	if b.source != nil {
		return b.function.ID
	}
	return b.step.ID
}

// policyFunction returns a function for policies.
func policyFunction(id catalog.FunctionID) verify.Function {
	return verify.Function{Group: id.Group, Kind: id.Kind}
}

// reach returns what a runtime requests, for policies.
func reach(n fnexec.Needs) []verify.Reach {
	r := n.Request
	var out []verify.Reach
	for _, one := range []struct {
		asks bool
		what verify.Reach
	}{
		{r.Network, verify.ReachNetwork},
		{r.StorageMount || len(r.Mounts) > 0, verify.ReachMounts},
		{r.HostExec, verify.ReachExec},
		{len(r.Env) > 0, verify.ReachEnvironment},
		{len(n.Args) > 0, verify.ReachCommand},
	} {
		if one.asks {
			out = append(out, one.what)
		}
	}
	return out
}

// allEvidence returns the evidence of a function, and that of policies in audit mode if it is
// refused.
func (t *trusted) allEvidence() []verify.Evidence {
	out := t.key.Evidence()
	for _, err := range t.refused {
		var no *verify.UntrustedError
		if errors.As(err, &no) {
			out = append(slices.Clip(out), no.Audit...)
		}
	}
	return out
}
