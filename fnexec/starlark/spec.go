package starlark

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
)

// script is the place of a script: one of uri, path and source.
type script struct {
	at      fnexec.Spec
	uri     string
	path    string
	source  string
	sha256  digest.Digest
	request sandbox.Request
}

// read reads a spec in any shape: a reference, {uri|url|oci, sha256}, {path, sha256}, {source},
// or none of these if the functionConfig holds the script.
func read(n *yaml.RNode, at fnexec.Site) (script, error) {
	s := fnexec.NewSpec(n, Kind)
	out := script{at: s}
	switch {
	case s.IsText():
		out.uri = s.Text()
	case s.Present():
		out = readMapping(s, at)
	}
	if s.Err() == nil && out.uri == "" && out.path == "" && out.source == "" {
		out.source = sourceOf(at.Config)
		if out.source == "" {
			s.Fail("it names no script, and the functionConfig holds none")
		}
	}
	return out, s.Err()
}

func readMapping(s fnexec.Spec, at fnexec.Site) script {
	s.Only("uri", "url", "oci", "path", "source", "sha256", "envs",
		"requireNetwork", "requireStorageMount", "requireFilesystem")
	out := script{at: s, path: s.Get("path").Text(), source: s.Get("source").Text(), sha256: s.Get("sha256").Digest()}
	places := 0
	for _, name := range []string{"uri", "url", "oci"} {
		if v := s.Get(name).Text(); v != "" {
			out.uri = v
			places++
		}
	}
	for _, v := range []string{out.path, out.source} {
		if v != "" {
			places++
		}
	}
	if places > 1 {
		s.Fail("it says more than one place")
	}
	if out.source != "" && !at.Inline {
		s.Get("source").Fail("only a functionConfig can hold a script itself")
	}
	out.request = sandbox.Request{
		Network:      s.Get("requireNetwork").Bool(),
		StorageMount: s.Get("requireStorageMount").Bool() || s.Get("requireFilesystem").Bool(),
		Env:          s.Get("envs").Texts(),
	}
	if len(out.request.Env) > 0 && !at.Inline {
		s.Get("envs").Fail("%w", failure.NotPermitted.Mark(errors.New("only a functionConfig can ask for variables")))
	}
	return out
}

// sourceOf returns the script in a functionConfig: source in kpt's StarlarkRun, data.source in a
// ConfigMap.
func sourceOf(config *yaml.RNode) string {
	if yaml.IsMissingOrNull(config) {
		return ""
	}
	c := fnexec.NewSpec(config, "functionConfig")
	if c.Get("kind").Text() == "ConfigMap" {
		return c.Get("data").Get("source").Text()
	}
	return c.Get("source").Text()
}

// locator returns the place of the script. Paths are relative to the site.
func (s script) locator(at fnexec.Site) (reference.Locator, error) {
	l := reference.Locator{Scheme: reference.SchemeFile, Name: filepath.FromSlash(s.path)}
	if s.path == "" {
		var err error
		if l, err = reference.Parse(s.uri); err != nil {
			s.at.Fail("%v", err)
			return l, s.at.Err()
		}
	}
	if !l.Local() {
		return l, nil
	}
	if at.Dir == "" {
		s.at.Fail("%w", failure.NotPermitted.Mark(fmt.Errorf("%s is a place on this machine: only what was read from this machine can name it", l)))
		return l, s.at.Err()
	}
	return l.At(at.Dir), nil
}

// literal returns a script that is written inline as an artifact.
func (s script) literal() registry.Artifact {
	const name = "functionConfig.star"
	from := reference.Locator{Scheme: reference.SchemeFile, Name: name}
	return registry.Literal(from, mediatypes.RoleStarlark, name, []byte(s.source))
}

func (s script) title() string {
	switch {
	case s.source != "":
		return Kind + " source"
	case s.path != "":
		return Kind + " " + s.path
	}
	return Kind + " " + s.uri
}

// name returns the name of a script's file for errors.
func name(title, place string) string {
	if title != "" {
		return path.Base(filepath.ToSlash(title))
	}
	return path.Base(filepath.ToSlash(place))
}
