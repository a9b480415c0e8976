package render

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// trusted is a function that may be used, with both keys.
type trusted struct {
	bound
	key      verify.Trusted
	grant    sandbox.Grant
	artifact registry.Artifact
	refused  []error // why it may not be used, nil where it may
}

// trust finds the program of every function, verifies it, and decides how far it may
// reach. Every refusal is reported.
func (r *Renderer) trust(ctx context.Context, o Options, bs []bound) ([]trusted, error) {
	out := make([]trusted, len(bs))
	errs := make([][]error, len(bs))
	if slices.ContainsFunc(bs, processes) {
		defer warm(ctx, o.Allow)()
	}
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, b := range bs {
		g.Go(func() error {
			out[i].bound = b
			var err error
			if out[i].grant, err = r.grant(o, b); err != nil {
				errs[i] = append(errs[i], stepError(b.step, err))
			}
			if out[i].artifact, out[i].key, err = r.verify(ctx, o, b); err != nil {
				errs[i] = append(errs[i], stepError(b.step, err))
			}
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var refusals []error
	for i := range out {
		refusals = append(refusals, errs[i]...)
		out[i].refused = errs[i]
		for _, e := range out[i].key.Evidence() {
			if e.Warning != "" {
				out[i].warn(fmt.Sprintf("%s: %s (%s)", out[i].prepared.Needs.Title, e.Warning, e.Detail))
			}
		}
		r.report(PhaseTrust, out[i].bound, len(bs[i].warnings))
	}
	if err := r.confine(ctx, out); err != nil {
		refusals = append(refusals, err)
	}
	return out, all(refusals)
}

// processes tells functions that are processes of this machine's, or may be.
func processes(b bound) bool {
	n := b.prepared.Needs
	return n.Request.HostExec || n.Use == verify.UseImage
}

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
	g, err := o.Allow.Grant(b.prepared.Needs.Request)
	if len(refusals) == 0 {
		return g, err
	}
	denied := &sandbox.DeniedError{Refusals: refusals}
	if more, ok := err.(*sandbox.DeniedError); ok { //nolint:errorlint // Grant returns it as it is
		denied.Refusals = append(denied.Refusals, more.Refusals...)
	}
	return sandbox.Grant{}, denied
}

// verify resolves a reference, and asks whether what it resolved to may be used.
func (r *Renderer) verify(ctx context.Context, o Options, b bound) (registry.Artifact, verify.Trusted, error) {
	n := b.prepared.Needs
	var artifact registry.Artifact
	switch {
	case n.Literal != nil:
		artifact = *n.Literal
	case n.InPlace && n.Use == verify.UseProgram && n.Promised == "" && n.From.Digest == "": // a script is read
		artifact = registry.Artifact{From: n.From, Role: n.Want.Role}
	default:
		r.event(Event{Phase: PhaseTrust, Text: "resolving " + n.From.Display()})
		var err error
		if artifact, err = r.Resolve(ctx, n.From, n.Want); err != nil {
			return artifact, verify.Trusted{}, err
		}
	}
	key, err := verify.Verify(ctx, verify.Subject{Artifact: artifact, Promised: n.Promised, Inner: n.Inner}, r.checkers(o, b)...)
	return artifact, key, err
}

// checkers says who has to say yes.
func (r *Renderer) checkers(o Options, b bound) []verify.Checker {
	n := b.prepared.Needs
	ask := verify.Request{Use: n.Use, Ref: n.From, By: b.by}
	if n.Literal != nil { // it is a place among the files that hold it
		ask.Ref = n.From.At(b.step.Dir)
	}
	if b.source != nil {
		ask.Catalog = b.source.vouchers()
	}
	if b.step.Inline != nil && (n.InPlace || n.Literal != nil) {
		ask.Flag = "--enable-alpha-plugins"
		if n.Request.HostExec {
			ask.Flag = "--enable-exec"
		}
	}
	return o.Policy.Checkers(ask)
}
