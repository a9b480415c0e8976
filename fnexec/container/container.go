package container

import (
	"context"
	"fmt"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
)

// Kind is the key under `runtime:`.
const Kind = "container"

// UnsupportedError says that a function runs as a container, which krmcat cannot do yet.
type UnsupportedError struct{ Image string }

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("it is the container image %s, and container functions are not supported yet", e.Image)
}

// Elsewhere tells render that the next runtime of the function may do.
func (*UnsupportedError) Elsewhere() bool { return true }

// Runtime refuses to run container images, and pins them. It implements fnexec.Runtime
// and fnexec.Pinner.
type Runtime struct{}

// New makes the runtime.
func New() *Runtime { return &Runtime{} }

// Kind implements fnexec.Runtime.
func (*Runtime) Kind() string { return Kind }

// Prepare implements fnexec.Runtime. The error is always an *UnsupportedError, beside which
// Needs say what would be verified, or a *fnexec.SpecError where no image is named.
func (*Runtime) Prepare(n *yaml.RNode, at fnexec.Site) (fnexec.Prepared, error) {
	s := fnexec.NewSpec(n, Kind)
	image, promised := s.Get("image").Text(), s.Get("sha256").Digest()
	if image == "" {
		s.Fail("it names no image")
	}
	if err := s.Err(); err != nil {
		return fnexec.Prepared{}, err
	}
	from, err := registry.ParseImage(image)
	if err != nil {
		s.Get("image").Fail("%v", err)
		return fnexec.Prepared{}, s.Err()
	}
	switch {
	case from.Digest == "":
		from.Digest = promised // of an image, it is the manifest's or the index's
	case promised != "" && promised != from.Digest:
		s.Get("sha256").Fail("it is %s, and the image is pinned to %s", promised.Encoded(), from.Digest.Encoded())
		return fnexec.Prepared{}, s.Err()
	}
	return fnexec.Prepared{Needs: fnexec.Needs{
		From: from, Want: registry.Want{Role: mediatypes.RoleContainer, Platform: at.Platform, Root: true},
		Use: verify.UseImage, Title: Kind + " " + image,
	}}, &UnsupportedError{Image: image}
}

// Pin implements fnexec.Pinner: the image gets its digest, which is its sha256 too. A
// sha256 that says otherwise is an error.
func (*Runtime) Pin(ctx context.Context, n *yaml.RNode, at fnexec.Site, resolve fnexec.ResolveFunc) error {
	s := fnexec.NewSpec(n, Kind)
	s.Only("image", "sha256", "requireNetwork", "requireStorageMount", "requireFilesystem")
	image, promised := s.Get("image").Text(), s.Get("sha256").Digest()
	if image == "" {
		s.Fail("it names no image")
	}
	if err := s.Err(); err != nil {
		return err
	}
	l, err := registry.ParseImage(image)
	if err != nil {
		return fmt.Errorf("pinning the image: %w", err)
	}
	a, err := resolve(ctx, l, registry.Want{Role: mediatypes.RoleContainer, Platform: at.Platform})
	if err != nil {
		return fmt.Errorf("pinning the image %s: %w", image, err)
	}
	if promised != "" && promised != a.Root.Digest {
		return &fnexec.SpecError{Field: Kind + ".sha256", Msg: fmt.Sprintf("it is %s, the image has %s",
			promised.Encoded(), a.Root.Digest.Encoded())}
	}
	s.Set("image", pinned(image, l.Digest, a.Root.Digest))
	s.Set("sha256", a.Root.Digest.Encoded())
	return nil
}

// pinned writes the digest behind the image's name as it was written, so that the short
// names that engines complete stay what they are.
func pinned(image string, had, d digest.Digest) string {
	if had != "" {
		return image
	}
	return image + "@" + d.String()
}
