package starlark

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// Kind is the key of this runtime under `runtime:`.
const Kind = "starlark"

// Runtime runs Starlark scripts. It implements fnexec.Runtime and fnexec.Pinner.
type Runtime struct{}

// New returns the runtime.
func New() *Runtime { return &Runtime{} }

// Kind implements fnexec.Runtime.
func (*Runtime) Kind() string { return Kind }

// Prepare implements fnexec.Runtime. The error is a *fnexec.SpecError.
func (*Runtime) Prepare(n *yaml.RNode, at fnexec.Site) (fnexec.Prepared, error) {
	s, err := read(n, at)
	if err != nil {
		return fnexec.Prepared{}, err
	}
	needs := fnexec.Needs{
		Want:     registry.Want{Role: mediatypes.RoleStarlark},
		Promised: s.sha256,
		Use:      verify.UseScript,
		Title:    s.title(),
		Request:  s.request,
	}
	if s.source != "" {
		a := s.literal()
		needs.Literal, needs.From, needs.InPlace = &a, a.From, at.Inline
	} else {
		if needs.From, err = s.locator(at); err != nil {
			return fnexec.Prepared{}, err
		}
		if at.Inline && s.path != "" && s.sha256 == "" {
			needs.InPlace = true
			needs.Beside = siblings(filepath.Dir(needs.From.Name)).of
		}
	}
	return fnexec.Prepared{Needs: needs, Load: load}, nil
}

// Pin implements fnexec.Pinner. It adds the digest to the reference, and the script's sha256. A
// different sha256 is an error.
func (*Runtime) Pin(ctx context.Context, n *yaml.RNode, at fnexec.Site, resolve fnexec.ResolveFunc) error {
	s, err := read(n, at)
	if err != nil {
		return err
	}
	if s.source != "" {
		return nil // the script is in the spec
	}
	from, err := s.locator(at)
	if err != nil {
		return err
	}
	a, err := resolve(ctx, from, registry.Want{Role: mediatypes.RoleStarlark})
	if err != nil {
		return fmt.Errorf("pinning %s: %w", s.title(), err)
	}
	if len(a.Files) == 0 {
		return fmt.Errorf("pinning %s: %w", s.title(), errNoFile)
	}
	sum := a.Files[0].Digest
	if s.sha256 != "" && s.sha256 != sum {
		return &fnexec.SpecError{Field: Kind + ".sha256", Msg: fmt.Sprintf("it is %s, the script has %s",
			s.sha256.Encoded(), sum.Encoded())}
	}
	return s.pin(n, a, from)
}

var errNoFile = errors.New("it contains no file")

// pin writes the digest into the spec, with the place where the script was published. A bare
// reference becomes {uri, sha256}.
func (s script) pin(n *yaml.RNode, a registry.Artifact, asked reference.Locator) error {
	uri := s.uri
	if a.From != asked {
		uri = a.Pinned().String()
		s.at.Rename("path", "uri")
	} else if uri != "" {
		l, err := reference.Parse(uri)
		if err != nil {
			return err
		}
		if l.Scheme != reference.SchemeFile && l.Scheme != reference.SchemeHTTPS {
			l.Digest = a.Root.Digest
			uri = l.String()
		}
	}
	at := s.at
	if at.IsText() {
		*n.YNode() = yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		at = fnexec.NewSpec(n, Kind)
		at.Set("uri", uri)
	}
	for _, name := range []string{"uri", "url", "oci"} {
		if at.Get(name).Present() {
			at.Set(name, uri)
		}
	}
	at.Set("sha256", a.Files[0].Digest.Encoded())
	return nil
}

// load returns a Runner of a verified script and the files that it loads.
func load(ctx context.Context, t verify.Trusted, g sandbox.Grant) (fnexec.Runner, error) {
	a, err := t.Artifact()
	if err == nil && !g.Valid() {
		err = sandbox.ErrNotGranted
	}
	if err != nil {
		return nil, fmt.Errorf("loading the script: %w", err)
	}
	c := &compiler{modules: map[string]*program{}, find: func(name string) ([]byte, error) {
		if beside, ok := t.Beside(name); ok {
			return beside.Read(ctx, 0)
		}
		return nil, errNoModule
	}}
	main, err := c.script(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", a.From, err)
	}
	return &runner{growth: maxGrowth, output: g.Limits().Output, main: main, modules: c.modules, environment: g.Asked()}, nil
}
