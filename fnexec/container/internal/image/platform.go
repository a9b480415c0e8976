package image

import (
	"context"
	"fmt"
	"runtime"

	"github.com/krmcat/krmcat/registry"
)

// Platform is what an image says that it is for. What is empty is not known.
type Platform struct {
	OS   string `json:"os"`
	Arch string `json:"architecture"`
}

// String writes it as people do.
func (p Platform) String() string {
	s := p.OS
	if s == "" {
		s = "linux"
	}
	if p.Arch != "" {
		s += "/" + p.Arch
	}
	return fmt.Sprintf("%.80s", s)
}

// UnfitError says that an image is not one that runs here: it is for another system, or
// says what it has not got.
type UnfitError struct {
	Image  string // as a person wrote it, with its digest; "" where who wraps it says so
	Reason string
}

func (e *UnfitError) Error() string {
	if e.Image == "" {
		return e.Reason
	}
	return "image " + e.Image + ": " + e.Reason
}

// Elsewhere is the reason not to run what is for another system, "" for none. Another
// architecture is none: the kernel may know somebody who runs it.
func (p Platform) Elsewhere() string {
	if p.OS == "" || p.OS == "linux" {
		return ""
	}
	return fmt.Sprintf("it is for %s, and this machine runs linux/%s", p, runtime.GOARCH)
}

// Foreign explains a program that does not start, "" where its platform is no reason.
func (p Platform) Foreign() string {
	if p.Arch == "" || p.Arch == runtime.GOARCH {
		return ""
	}
	return fmt.Sprintf("the image is for %s, and this machine is linux/%s", p, runtime.GOARCH)
}

// ReadPlatform reads from an image's config what the image is for.
func ReadPlatform(ctx context.Context, a registry.Artifact) (Platform, error) {
	raw, err := a.Read(ctx, a.Config)
	if err != nil {
		return Platform{}, err
	}
	c, err := decodeConfig(raw, len(a.Files))
	return c.Platform, err
}
