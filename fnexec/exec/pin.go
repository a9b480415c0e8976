package exec

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// Pin implements fnexec.Pinner. It adds a digest to the reference of each platform, and its
// sha256. An existing sha256 that matches neither the file nor the program in it is an error. A
// single reference to an index of several platforms gets only its digest, which covers them all.
func (r *Runtime) Pin(ctx context.Context, n *yaml.RNode, at fnexec.Site, resolve fnexec.ResolveFunc) error {
	s, err := read(n, at)
	if err != nil {
		return err
	}
	for _, p := range s.programs {
		if err := p.pin(ctx, at, resolve); err != nil {
			return fmt.Errorf("pinning %s: %w", p.title(), err)
		}
	}
	return nil
}

func (p program) pin(ctx context.Context, at fnexec.Site, resolve fnexec.ResolveFunc) error {
	from, err := p.locator(at)
	if err != nil {
		return err
	}
	want := registry.Want{Role: mediatypes.RoleExec, Platform: p.platform()}
	if want.Platform == "" {
		want.Platform = at.Platform
	}
	a, err := resolve(ctx, from, want)
	if err != nil {
		return err
	}
	if err := p.pinURI(a, from); err != nil {
		return err
	}
	if p.platform() == "" && len(a.Platforms) > 1 {
		return nil // its blobs for the platforms have different digests
	}
	if len(a.Files) == 0 {
		return errors.New("it contains no file")
	}
	sum := a.Files[0].Digest
	if p.sha256 == "" || p.sha256 == sum {
		p.at.Set("sha256", sum.Encoded())
		return nil
	}
	return p.checkInner(ctx, a)
}

// pinURI writes the digest into the reference, or the reference of what was published. The
// reference of a plain file has no digest: only its sha256 is written.
func (p program) pinURI(a registry.Artifact, asked reference.Locator) error {
	if a.From != asked {
		p.at.Rename("path", "uri")
		p.write(a.Pinned())
		return nil
	}
	if p.uri == "" {
		return nil
	}
	l, err := reference.Parse(p.uri)
	if err != nil {
		return err
	}
	if l.Scheme == reference.SchemeFile || l.Scheme == reference.SchemeHTTPS {
		return nil
	}
	p.write(l.WithDigest(a.Root.Digest))
	return nil
}

// write replaces the reference.
func (p program) write(l reference.Locator) {
	if p.at.IsText() {
		p.at.Node().Value = l.String()
		return
	}
	for _, name := range []string{"uri", "oci", "url"} {
		if p.at.Get(name).Present() {
			p.at.Set(name, l.String())
		}
	}
}

// checkInner compares a sha256 that differs from the archive's with that of the program in it.
func (p program) checkInner(ctx context.Context, a registry.Artifact) error {
	data, err := a.Read(ctx, a.Files[0])
	if err != nil {
		return err
	}
	inner, err := loader{bin: p.bin}.inner(ctx, data)
	if err != nil {
		return err
	}
	if inner != p.sha256 {
		return &fnexec.SpecError{Field: Kind, Msg: fmt.Sprintf("sha256 is %s, the file has %s",
			p.sha256.Encoded(), a.Files[0].Digest.Encoded())}
	}
	return nil
}
