package image

import (
	"context"
	"fmt"
	"runtime"

	"github.com/krmcat/krmcat/registry"
)

// Platform is the platform in an image's config. Fields that are missing there are empty.
type Platform struct {
	OS   string `json:"os"`
	Arch string `json:"architecture"`
}

// String writes the platform as "os/arch/variant", as far as it is known.
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

// UnfitError reports that an image does not run on this machine: it is for another platform, or is
// inconsistent.
type UnfitError struct {
	Image  string // as the user wrote it, with its digest; "" if the caller adds it
	Reason string
}

// Error names the image and the reason.
func (e *UnfitError) Error() string {
	if e.Image == "" {
		return e.Reason
	}
	return "image " + e.Image + ": " + e.Reason
}

// Elsewhere returns why an image for another operating system is not run; "" for Linux. Another
// architecture is not refused: the kernel may have an emulator registered.
func (p Platform) Elsewhere() string {
	if p.OS == "" || p.OS == "linux" {
		return ""
	}
	return fmt.Sprintf("it is for %s, and this machine runs linux/%s", p, runtime.GOARCH)
}

// Foreign says that a program that does not start is for another platform; "" if it is not.
func (p Platform) Foreign() string {
	if p.Arch == "" || p.Arch == runtime.GOARCH {
		return ""
	}
	return fmt.Sprintf("the image is for %s, and this machine is linux/%s", p, runtime.GOARCH)
}

// ReadPlatform reads the platform from an image's config.
func ReadPlatform(ctx context.Context, a registry.Artifact) (Platform, error) {
	raw, err := a.Read(ctx, a.Config)
	if err != nil {
		return Platform{}, err
	}
	c, err := decodeConfig(raw, len(a.Files))
	return c.Platform, err
}
