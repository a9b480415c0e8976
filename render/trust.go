package render

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

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
	confinementChecked bool // that its process can be confined was looked at
	unreadable         bool // its program is a file that may not be read
	artifact           registry.Artifact
	runner             fnexec.Runner // nil until it is loaded
	refused            []error       // why it may not be used, beside that it was not found
}

// isRefused tells whether something speaks against it.
func (t *trusted) isRefused() bool { return t.unbound != nil || len(t.refused) > 0 }

// refuse notes what does.
func (t *trusted) refuse(err error) { t.refused = append(t.refused, stepError(t.step, err)) }

// progress is how far a Step has come.
type progress int

// The stages, in order.
const (
	asked    progress = iota // by the target
	found                    // its function is known, or why it is not
	granted                  // its reach is
	verified                 // its program is
)

// permit decides how far every function may reach, and refuses what could not be trusted
// whatever its program turned out to be. It asks nobody.
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

// isLocal tells what is on this machine, so that looking at it asks nobody.
func isLocal(n fnexec.Needs) bool { return n.Literal != nil || n.From.Local() }

// foreseen refuses a program that may not be used whatever is found there.
func (a *approval) foreseen(b bound) error {
	if isLocal(b.prepared.Needs) {
		return nil
	}
	return foresee(a.options, b)
}

// foresee refuses a program by what is known before it is looked at.
func foresee(o Options, b bound) error {
	n := b.prepared.Needs
	return verify.Foresee(verify.Subject{Artifact: registry.Artifact{From: n.From}, Promised: n.Promised}, o.Policy.Checkers(request(b))...)
}

// trust finds the program of every function and verifies it. In the round that stays on
// this machine, those from elsewhere wait, and of those nobody asks for what is refused.
func (a *approval) trust(ctx context.Context) {
	if slices.ContainsFunc(a.steps, startsProcess) {
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

// loadLocal loads a program that lies on this machine, so that one that is not there, or is none, is
// refused with all that is, and before anybody elsewhere is asked. An image is not unpacked for
// that.
func (r *Renderer) loadLocal(ctx context.Context, t *trusted) error {
	if t.prepared.Needs.Use == verify.UseImage {
		return nil
	}
	return r.loadStep(ctx, t)
}

// startsProcess tells functions that are processes of this machine's, or may be.
func startsProcess(t trusted) bool {
	n := t.prepared.Needs
	return n.Request.HostExec || n.Use == verify.UseImage
}

// grantStep grants a function its reach, or says why not.
func (a *approval) grantStep(b *bound) (err error) {
	if !b.grant.Valid() {
		b.grant, err = a.Renderer.grant(a.options, *b)
	}
	return err
}

// restrictedFileError is a refusal of which one reason is the load restrictor: the file may not be read.
type restrictedFileError struct{ *sandbox.DeniedError }

// Unwrap gives the refusal.
func (e *restrictedFileError) Unwrap() error { return e.DeniedError }

// grant asks once, for everything: the flags that explicit runtimes need, and the reach
// that the function wants.
func (r *Renderer) grant(o Options, b bound) (sandbox.Grant, error) {
	var refusals []sandbox.Refusal
	if b.step.Inline != nil && !o.EnableAlphaPlugins {
		refusals = append(refusals, sandbox.Refusal{
			Wants: "to run as its own config says, by " + b.step.Inline.Source, Flag: "--enable-alpha-plugins",
		})
	}
	if b.step.Inline != nil && b.prepared.Needs.Request.HostExec && !o.EnableExec {
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

// outsideRestriction refuses a file that a functionConfig names where the load restrictor keeps it from
// reading; nil where it does not. A program that is looked up in PATH is named by whoever set
// PATH.
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

// restricted tells a file of this machine that a functionConfig names: the load restrictor holds
// for it.
func restricted(b bound) bool {
	n := b.prepared.Needs
	return b.step.Inline != nil && n.Literal == nil && n.From.Local() && filepath.IsAbs(n.From.Name)
}

// want is what is expected where the program is. The load restrictor holds once more when a
// file is opened: who can write to the target could have made another link of it meanwhile.
func (r *Renderer) want(o Options, b bound) (registry.Want, error) {
	want := b.prepared.Needs.Want
	if !restricted(b) {
		return want, nil
	}
	var err error
	want.Below, err = b.step.Bound(r.FS, o.Target)
	return want, err
}

// verify resolves a reference, and asks whether what it resolved to may be used.
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

// inPlace tells a program that runs from the file that it is. It is read only where somebody
// asks for its bytes; a script is in any case.
func inPlace(n fnexec.Needs) bool {
	return n.InPlace && n.Use == verify.UseProgram && n.Promised == "" && n.From.Digest == ""
}

// beside verifies the files that a program uses from where it stands, by the rules for each.
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

// request is what the policies are asked about a runtime.
func request(b bound) verify.Request {
	n := b.prepared.Needs
	ask := verify.Request{
		Use: n.Use, Ref: n.From, By: b.by, ByCatalog: b.source != nil, Functions: []verify.Function{function(b.step)},
		Claimed: b.step.Inline != nil, Reach: reach(n),
	}
	if n.Literal != nil { // it is a place among the files that hold it
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
	}
	return ask
}

// function is what a Step asks for, as policies call it.
func function(s pipeline.Step) verify.Function {
	return verify.Function{Group: s.ID.Group, Kind: s.ID.Kind}
}

// reach is what a runtime asks for, as policies call it.
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

// allEvidence is the evidence of a function, and what policies that are tried out say of one that is
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
