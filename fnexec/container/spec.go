package container

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
)

// spec is a container runtime's spec, in either of its shapes.
type spec struct {
	image   string            // as written
	from    reference.Locator // the image with its digest, if one is given
	command image.Command
	request sandbox.Request
}

// ofCatalog returns the fields that a spec in a catalog may have.
func ofCatalog() []string {
	return []string{
		"image", "sha256", "command", "args", "envs",
		"requireNetwork", "requireStorageMount", "requireFilesystem",
	}
}

// read reads a spec, strictly.
func read(n *yaml.RNode, at fnexec.Site) (spec, error) {
	s := fnexec.NewSpec(n, Kind)
	known := ofCatalog()
	if at.Inline { // a spec in a functionConfig has the fields of kyaml
		known = append(known, "network", "mounts")
	}
	s.Only(known...)
	out := spec{image: s.Get("image").Text(), command: image.Command{Program: s.Get("command").Texts(), Args: s.Get("args").Texts()}}
	promised := s.Get("sha256").Digest()
	if out.image == "" {
		s.Fail("it names no image")
	}
	out.request = sandbox.Request{
		Image:        true,
		Network:      s.Get("requireNetwork").Bool() || s.Get("network").Bool(),
		StorageMount: s.Get("requireStorageMount").Bool() || s.Get("requireFilesystem").Bool(),
		Mounts:       readMounts(s.Get("mounts")),
		Env:          s.Get("envs").Texts(),
	}
	for _, e := range out.request.Env {
		// A catalog must not read the user's variables.
		if !at.Inline && !strings.Contains(e, "=") {
			s.Get("envs").Fail("%w", failure.NotPermitted.Mark(fmt.Errorf("a catalog cannot copy the variable %q from the host", e)))
		}
	}
	for _, word := range slices.Concat(out.command.Program, out.command.Args) {
		if strings.ContainsRune(word, 0) {
			s.Fail("an argument has a zero byte in it")
		}
	}
	if len(out.command.Program) > 0 && out.command.Program[0] == "" {
		s.Get("command").Fail("its first word names no program")
	}
	if err := s.Err(); err != nil {
		return spec{}, err
	}
	var err error
	if out.from, err = reference.ParseImage(out.image); err != nil {
		s.Get("image").Fail("%v", err)
		return spec{}, s.Err()
	}
	switch {
	case out.from.Digest == "":
		out.from.Digest = promised // the sha256 of an image is the digest of its manifest or index
	case promised != "" && promised != out.from.Digest:
		s.Get("sha256").Fail("it is %s, and the image is pinned to %s", promised.Encoded(), out.from.Digest.Encoded())
		return spec{}, s.Err()
	}
	return out, nil
}

func readMounts(list fnexec.Spec) []sandbox.Mount {
	var out []sandbox.Mount
	for _, e := range list.Each() {
		e.Only("type", "src", "dst", "rw")
		m := sandbox.Mount{Type: e.Get("type").Text(), Src: e.Get("src").Text(), Dst: e.Get("dst").Text(), RW: e.Get("rw").Bool()}
		if err := m.Check(); err != nil {
			e.Fail("%v", err)
		}
		out = append(out, m)
	}
	return out
}

// platform returns the platform to run. Images are for Linux on every machine.
func platform(at fnexec.Site) string {
	if at.Platform != "" {
		return at.Platform
	}
	return "linux/" + runtime.GOARCH
}
