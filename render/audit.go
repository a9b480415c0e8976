package render

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

// Audited is the result of verifying one artifact.
type Audited struct {
	Ref    string `json:"ref"` // with its digest, if it was found
	Digest string `json:"digest,omitempty"`
	Kind   string `json:"kind,omitempty"` // catalog, starlark, exec, container, …
	// By is the catalog that names it, and Functions are those that use it; empty for the
	// references of AuditOptions.
	By        string            `json:"by,omitempty"`
	Functions []string          `json:"functions,omitempty"`
	Trusted   bool              `json:"trusted"`
	Evidence  []verify.Evidence `json:"evidence,omitempty"`
	// Reasons say why it is not trusted.
	Reasons []string `json:"reasons,omitempty"`
	// Because are the Reasons but for those of single signatures.
	Because []string `json:"-"`
	// Signatures are all signatures found, valid or not.
	Signatures []verify.Signature `json:"signatures,omitempty"`
	// Audit means that only policies in audit mode would refuse it.
	Audit   bool   `json:"audit,omitempty"`
	Problem string `json:"problem,omitempty"` // why it could not be verified
	Note    string `json:"note,omitempty"`    // unknown details that were not needed
	Err     error  `json:"-"`                 // nil if it is trusted
}

// AuditOptions say what is verified.
type AuditOptions struct {
	Refs   []reference.Locator // local places absolute
	Policy verify.Policy
	// Recursive also verifies every runtime that a catalog names, for every platform.
	Recursive bool
	// ConfigTrusted are the catalogs that the user's config trusts. A digest there vouches for its
	// content, as in Render.
	ConfigTrusted []TrustedCatalog
	// Dir is the directory that the reference of a resolved catalog is relative to.
	Dir string
}

// Audit verifies artifacts as a render would, and runs nothing. It returns an Audited for
// everything that was verified, with errors in its Err.
func (r *Renderer) Audit(ctx context.Context, o AuditOptions) ([]Audited, error) {
	r = r.resolvingOnce()
	out := make([][]Audited, len(o.Refs))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, ref := range o.Refs {
		g.Go(func() error {
			out[i] = r.audit(ctx, o, ref)
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return slices.Concat(out...), nil
}

// audit verifies one reference, and what it names.
func (r *Renderer) audit(ctx context.Context, o AuditOptions, ref reference.Locator) []Audited {
	if err := o.foreseen(ref); err != nil {
		return []Audited{withError(Audited{Ref: ref.Display()}, err)}
	}
	a, err := r.Resolve(ctx, ref, registry.Want{Root: true})
	if err != nil {
		return []Audited{withError(Audited{Ref: ref.Display()}, err)}
	}
	uses := r.uses(ctx, a)
	row, key := r.direct(ctx, o, a, uses...)
	if row.Err == nil || row.Audit {
		if err := r.readContent(ctx, a); err != nil {
			row, row.Audit = withError(row, err), false
		}
	}
	switch {
	case !o.Recursive || row.Err != nil && !row.Audit:
		return []Audited{row}
	case !slices.Contains(uses, verify.UseCatalog):
		row.Note = "it is not a catalog, so it names no runtimes"
		return []Audited{row}
	}
	below, err := r.auditRuntimes(ctx, o, a, key)
	if err != nil {
		return []Audited{withError(row, err)}
	}
	return append([]Audited{row}, below...)
}

// AuditCatalog verifies a catalog that was resolved already, so that it can be inspected before it
// is trusted.
func (r *Renderer) AuditCatalog(ctx context.Context, o AuditOptions, a registry.Artifact) Audited {
	row, _ := r.direct(ctx, o, a, verify.UseCatalog)
	return row
}

// maxPlatforms is the maximum number of platforms of an index that uses resolves.
const maxPlatforms = 32

// uses returns the possible uses of an artifact: the rules for each must be satisfied. The
// publisher declares the type, so content that can be read as a catalog on any platform counts as
// one, and content without a known type counts as both.
func (r *Renderer) uses(ctx context.Context, a registry.Artifact) []verify.Use {
	roles := []mediatypes.Role{a.Role}
	switch {
	case a.Plain() && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(a.From.Name)):
		return []verify.Use{verify.UseCatalog}
	case a.Plain() && path.Ext(a.From.Name) == ".star":
		return []verify.Use{verify.UseScript}
	case a.Manifest.Digest == "" && len(a.Platforms) > maxPlatforms:
		roles = nil
	case a.Manifest.Digest == "": // an index
		roles = nil
		for _, platform := range slices.Compact(slices.Sorted(slices.Values(append(a.Platforms, "")))) {
			below, err := r.Resolve(ctx, a.Pinned(), registry.Want{Platform: platform})
			if err == nil {
				roles = append(roles, below.Role)
			}
		}
	}
	var uses []verify.Use
	for _, role := range roles {
		use := verify.UseScript
		switch role {
		case mediatypes.RoleCatalog, mediatypes.RoleDefinition:
			use = verify.UseCatalog
		case mediatypes.RoleUnknown:
			continue
		case mediatypes.RoleStarlark, mediatypes.RoleExec, mediatypes.RoleContainer:
		}
		if !slices.Contains(uses, use) {
			uses = append(uses, use)
		}
	}
	if len(uses) == 0 {
		return []verify.Use{verify.UseCatalog, verify.UseScript}
	}
	return uses
}

// withVerdict adds the result of verifying. If no signatures were verified, it adds those that
// exist, with their claims.
func (r *Renderer) withVerdict(ctx context.Context, a registry.Artifact, row Audited, key verify.Trusted, err error) Audited {
	row.Evidence, row.Trusted = key.Evidence(), err == nil
	row = withError(row, err)
	if row.Problem != "" || row.Signatures != nil { // they were verified
		return row
	}
	found := r.signed(ctx, a, row.Evidence)
	row.Signatures = found.Signatures
	notes := slices.DeleteFunc([]string{row.Note, found.Note}, func(note string) bool { return note == "" })
	row.Note = strings.Join(notes, "; ")
	return row
}

// withError adds an error, nil for none.
func withError(row Audited, err error) Audited {
	if err == nil {
		return row
	}
	row.Err, row.Trusted = err, false
	var untrusted *verify.UntrustedError
	var tampered *registry.DigestError
	switch {
	case errors.As(err, &untrusted):
		row.Reasons, row.Signatures = verify.Texts(untrusted.Reasons), untrusted.Signatures
		row.Because = verify.Texts(slices.DeleteFunc(slices.Clone(untrusted.Reasons), func(r verify.Reason) bool { return r.OfSignature }))
		row.Evidence = append(row.Evidence, untrusted.Audit...)
	case errors.As(err, &tampered):
		row.Reasons = []string{tampered.Error()}
		row.Because = row.Reasons
	default:
		row.Problem = err.Error()
	}
	return row
}

// namedRuntime is a runtime that a catalog names, for one platform.
type namedRuntime struct {
	prepared  fnexec.Prepared
	kind      string
	functions []catalog.FunctionID
	err       error
}

// auditRuntimes verifies every runtime of a trusted catalog.
func (r *Renderer) auditRuntimes(ctx context.Context, o AuditOptions, a registry.Artifact, key verify.Trusted) ([]Audited, error) {
	whole, err := r.Resolve(ctx, a.Pinned(), registry.Want{Role: mediatypes.RoleCatalog})
	if err != nil {
		return nil, err
	}
	data, err := whole.ReadFile(ctx, 0)
	if err != nil {
		return nil, err
	}
	c, err := decode(ctx, a.From.Display(), data)
	if err != nil {
		return nil, err
	}
	src := &source{ref: a.From, artifact: whole, loaded: true}
	list := r.namedRuntimes(c, src)
	out := make([]Audited, len(list))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i, n := range list {
		g.Go(func() error {
			out[i] = r.auditRuntime(ctx, o, src, n, key.Evidence())
			return nil
		})
	}
	_ = g.Wait()
	return out, nil
}

func (r *Renderer) auditRuntime(ctx context.Context, o AuditOptions, src *source, n namedRuntime, vouchers []verify.Evidence) Audited {
	needs := n.prepared.Needs
	row := Audited{Ref: needs.From.Display(), Kind: n.kind, By: src.pinned()}
	ask := verify.Request{Use: needs.Use, Ref: needs.From, By: src.description(), ByCatalog: true, Catalog: vouchers, Reach: reach(needs)}
	for _, f := range n.functions {
		row.Functions = append(row.Functions, f.String())
		ask.Functions = append(ask.Functions, verify.Function{Group: f.Group, Kind: f.Kind})
	}
	if n.err != nil {
		return withError(row, n.err)
	}
	by := o.Policy.Checkers(ask)
	if !needs.From.Local() {
		s := verify.Subject{Artifact: registry.Artifact{From: needs.From}, Promised: needs.Promised}
		if err := verify.Foresee(s, by...); err != nil {
			return withError(row, err)
		}
	}
	want := needs.Want
	want.Root = needs.Use == verify.UseImage // its platform may be another one
	a, err := r.Resolve(ctx, needs.From, want)
	if err != nil {
		return withError(row, err)
	}
	row.Ref, row.Digest = a.Pinned().Display(), a.Root.Digest.String()
	row, _ = r.decide(ctx, o, verify.Subject{Artifact: a, Promised: needs.Promised, Inner: needs.Inner}, row, by)
	if row.Err == nil {
		row = withError(row, r.readContent(ctx, a))
	}
	return row
}

// readContent reads the content that would be used: a signature covers a manifest, but the files
// that it lists may be modified or missing. Layers of container images are not read. In an index,
// the manifest for this machine is read.
func (r *Renderer) readContent(ctx context.Context, a registry.Artifact) error {
	a, err := r.forThisPlatform(ctx, a)
	if err != nil {
		return err
	}
	if a.Role == mediatypes.RoleContainer || a.Role == mediatypes.RoleUnknown && !a.Plain() {
		return nil
	}
	for i := range a.Files {
		if _, err := a.ReadFile(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// namedRuntimes returns the runtimes of a catalog, each place once, with its functions.
func (r *Renderer) namedRuntimes(c *catalog.Catalog, src *source) []namedRuntime {
	var out []namedRuntime
	at := map[string]int{}
	for _, fn := range c.Functions {
		for _, declared := range fn.Runtimes {
			for _, n := range r.platforms(declared, src) {
				key := strings.Join([]string{n.kind, n.prepared.Needs.From.String(), n.prepared.Needs.Promised.String(), n.prepared.Needs.Want.Platform, fmt.Sprint(n.err)}, "\n")
				i, before := at[key]
				if !before {
					i = len(out)
					at[key] = i
					out = append(out, n)
				}
				out[i].functions = append(out[i].functions, fn.ID)
			}
		}
	}
	return out
}

// platforms reads a runtime for every platform that its spec lists.
func (r *Renderer) platforms(declared catalog.Runtime, src *source) []namedRuntime {
	rt, err := r.runtime(declared.Kind)
	if err != nil {
		return []namedRuntime{{kind: declared.Kind, err: atLine(src.ref.Display(), declared.Line, err)}}
	}
	list := []string{""}
	if p, ok := rt.(fnexec.Platformer); ok {
		list = p.Platforms(declared.Spec)
	}
	var out []namedRuntime
	for _, platform := range list {
		n := namedRuntime{kind: declared.Kind}
		n.prepared, n.err = rt.Prepare(declared.Spec, fnexec.Site{Dir: src.ref.Dir(), Platform: platform})
		var elsewhere interface{ Elsewhere() bool }
		if errors.As(n.err, &elsewhere) && n.prepared.Needs.From != (reference.Locator{}) {
			n.err = nil // it does not run here but can be verified
		}
		if n.err == nil {
			n.err = src.mayName(n.prepared.Needs.From)
		}
		if n.err != nil {
			n.err = atLine(src.ref.Display(), declared.Line, n.err)
		}
		out = append(out, n)
	}
	return out
}
