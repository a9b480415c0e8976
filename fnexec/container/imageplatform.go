package container

import (
	"fmt"
	"runtime"
)

// imagePlatform is what an image says that it is for. What is empty is not known.
type imagePlatform struct {
	OS   string `json:"os"`
	Arch string `json:"architecture"`
}

// String writes it as people do.
func (p imagePlatform) String() string {
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

// elsewhere is the reason not to run what is for another system, "" for none. Another
// architecture is none: the kernel may know somebody who runs it.
func (p imagePlatform) elsewhere() string {
	if p.OS == "" || p.OS == "linux" {
		return ""
	}
	return fmt.Sprintf("it is for %s, and this machine runs linux/%s", p, runtime.GOARCH)
}

// foreign explains a program that does not start, "" where its platform is no reason.
func (p imagePlatform) foreign() string {
	if p.Arch == "" || p.Arch == runtime.GOARCH {
		return ""
	}
	return fmt.Sprintf("the image is for %s, and this machine is linux/%s", p, runtime.GOARCH)
}
