package exec

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
)

// program is one entry of a spec: the program for one platform, or for all.
type program struct {
	at       fnexec.Spec // the entry
	bin      string      // base name, in an archive and on disk
	os, arch string      // "" for any
	uri      string      // its place; one of uri and path is set
	path     string
	sha256   digest.Digest
}

// fits reports whether the program runs on a platform.
func (p program) fits(goos, goarch string) bool {
	return (p.os == "" || p.os == goos) && (p.arch == "" || p.arch == goarch)
}

// platform returns the platform of the program as "os/arch"; "" for any.
func (p program) platform() string {
	if p.os == "" && p.arch == "" {
		return ""
	}
	return p.os + "/" + p.arch
}

// spec is an exec runtime's spec, in any of its shapes.
type spec struct {
	programs []program
	args     []string
	request  sandbox.Request
}

// read reads a spec in any shape: {platforms: […]}, [{path, sha256}, …], {path|uri, …} or a bare
// reference.
func read(n *yaml.RNode, at fnexec.Site) (spec, error) {
	s := fnexec.NewSpec(n, Kind)
	var out spec
	switch {
	case s.IsText():
		out.programs = []program{{at: s, uri: s.Text()}}
	case s.IsList():
		out.programs = readPrograms(s)
	case s.IsMapping():
		out = readMapping(s, at)
	default:
		s.Fail("it names no program")
	}
	if s.Err() == nil && len(out.programs) == 0 {
		s.Fail("it names no program")
	}
	out.request.HostExec = true
	return out, s.Err()
}

func readMapping(s fnexec.Spec, at fnexec.Site) spec {
	s.Only("platforms", "bin", "path", "uri", "oci", "url", "sha256", "args", "envs",
		"requireNetwork", "requireStorageMount", "requireFilesystem")
	out := spec{args: s.Get("args").Texts()}
	out.request = sandbox.Request{
		Network:      s.Get("requireNetwork").Bool(),
		StorageMount: s.Get("requireStorageMount").Bool() || s.Get("requireFilesystem").Bool(),
		Env:          s.Get("envs").Texts(),
	}
	for _, e := range out.request.Env {
		// A catalog must not read the user's variables.
		if !at.Inline && !strings.Contains(e, "=") {
			s.Get("envs").Fail("%w", failure.NotPermitted.Mark(fmt.Errorf("a catalog cannot copy the variable %q from the host", e)))
		}
	}
	if !s.Get("platforms").Present() {
		out.programs = []program{readProgram(s)}
		return out
	}
	for _, name := range []string{"path", "uri", "oci", "url", "bin", "sha256"} {
		if f := s.Get(name); f.Present() {
			f.Fail("it cannot stand beside platforms")
		}
	}
	out.programs = readPrograms(s.Get("platforms"))
	return out
}

func readPrograms(list fnexec.Spec) []program {
	var out []program
	for _, e := range list.Each() {
		e.Only("bin", "os", "arch", "uri", "path", "oci", "url", "sha256")
		out = append(out, readProgram(e))
	}
	return out
}

func readProgram(e fnexec.Spec) program {
	p := program{
		at:     e,
		bin:    e.Get("bin").Text(),
		os:     strings.ToLower(e.Get("os").Text()),
		arch:   strings.ToLower(e.Get("arch").Text()),
		path:   e.Get("path").Text(),
		sha256: e.Get("sha256").Digest(),
	}
	places := 0
	for _, name := range []string{"uri", "oci", "url"} {
		if v := e.Get(name).Text(); v != "" {
			p.uri = v
			places++
		}
	}
	if p.path != "" {
		places++
	}
	switch {
	case places == 0:
		e.Fail("it says neither uri nor path")
	case places > 1:
		e.Fail("it says more than one place")
	case (p.os == "") != (p.arch == ""):
		e.Fail("os and arch have to be given together")
	case p.bin != "" && !filepath.IsLocal(p.bin):
		e.Get("bin").Fail("%w", failure.NotPermitted.Mark(fmt.Errorf("%q is not a name inside an archive", p.bin)))
	}
	return p
}

// choose returns the first program for the platform.
func (s spec) choose(at fnexec.Site) (program, string, error) {
	want := at.Platform
	if want == "" {
		want = runtime.GOOS + "/" + runtime.GOARCH
	}
	goos, goarch, _ := strings.Cut(want, "/")
	for _, p := range s.programs {
		if p.fits(goos, goarch) {
			return p, want, nil
		}
	}
	var offered []string
	for _, p := range s.programs {
		if o := p.platform(); !slices.Contains(offered, o) {
			offered = append(offered, o)
		}
	}
	return program{}, want, &PlatformError{Want: want, Offered: offered}
}

// Platforms implements fnexec.Platformer. It returns nil for an invalid spec.
func (*Runtime) Platforms(n *yaml.RNode) []string {
	s, err := read(n, fnexec.Site{})
	if err != nil {
		return []string{""}
	}
	var out []string
	for _, p := range s.programs {
		if o := p.platform(); !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return out
}

// PlatformError reports that a function is not offered for a platform.
type PlatformError struct {
	Want    string   // "os/arch"
	Offered []string // in the order of the spec
}

// Error lists the offered platforms.
func (e *PlatformError) Error() string {
	return "it is not offered for " + e.Want + ", only for " + strings.Join(e.Offered, ", ")
}

// Elsewhere reports that another runtime of the function may work.
func (*PlatformError) Elsewhere() bool { return true }

// locator returns the place of the program. Paths are relative to the site.
func (p program) locator(at fnexec.Site) (reference.Locator, error) {
	var l reference.Locator
	if p.path != "" {
		l = reference.Locator{Scheme: reference.SchemeFile, Name: filepath.FromSlash(p.path)}
	} else {
		var err error
		if l, err = reference.Parse(p.uri); err != nil {
			p.at.Fail("%v", err)
			return l, p.at.Err()
		}
	}
	if !l.Local() {
		return l, nil
	}
	if at.Dir == "" {
		p.at.Fail("%w", failure.NotPermitted.Mark(fmt.Errorf("%s is a place on this machine: only what was read from this machine can name it", l)))
		return l, p.at.Err()
	}
	return l.At(at.Dir), nil
}
