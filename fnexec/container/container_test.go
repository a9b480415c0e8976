package container_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
)

func TestNoEngine(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":       "nothing on this machine runs container images: docker, podman, nerdctl: it is not in PATH",
		"docker": "it cannot be run by docker: it is not in PATH",
		"nope":   "it cannot be run by nope: krmcat knows auto, native,",
	} {
		p, err := container.New(container.Options{Runtime: name}).Prepare(yaml.MustParse("image: example.com/fn:v1"), fnexec.Site{})
		var ne *container.NoEngineError
		if !errors.As(err, &ne) || !ne.Elsewhere() || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v", name, err)
		}
		if p.Needs.From.String() != "oci://example.com/fn:v1" || p.Load != nil {
			t.Errorf("%s: got %+v", name, p)
		}
	}
}

// TestPackages checks that no package is recommended that is installed.
func TestPackages(t *testing.T) {
	t.Parallel()
	broken := errors.New("it does not answer")
	missing := &sandbox.NotFoundError{Name: "x"}
	for _, c := range []struct {
		runtime string
		tried   []container.Tried
		want    string
	}{
		{"docker", []container.Tried{{Name: "docker", Err: missing}}, "docker.io"},
		{"docker", []container.Tried{{Name: "docker", Err: broken}}, ""},
		{"podman", nil, "podman"},
		{"nerdctl", nil, ""},
		{"auto", []container.Tried{{Name: "native", Err: broken}, {Name: "bwrap", Err: broken}, {Name: "docker", Err: broken}}, "podman"},
		{"auto", []container.Tried{{Name: "native", Err: broken}, {Name: "bwrap", Err: missing}, {Name: "docker", Err: broken}}, "bubblewrap podman"},
	} {
		if runtime.GOOS != "linux" && c.runtime == "auto" {
			c.want = "podman"
		}
		got := strings.Join((&container.NoEngineError{Runtime: c.runtime, Tried: c.tried}).Packages(), " ")
		if got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	var asked string
	resolve := func(_ context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
		asked = l.String()
		return registry.Literal(l, w.Role, "", []byte("image")), nil
	}
	pin := func(s string) (string, error) {
		n := yaml.MustParse(s)
		err := container.New(container.Options{}).Pin(t.Context(), n, fnexec.Site{}, resolve)
		return n.MustString(), err
	}
	const sum = "6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d"
	want := "image: example/fn:v1@sha256:" + sum + "\nsha256: " + sum + "\n"
	got, err := pin("image: example/fn:v1\n")
	if err != nil || got != want {
		t.Errorf("got %s, %v", got, err)
	}
	if asked != "oci://docker.io/example/fn:v1" {
		t.Errorf("asked for %s", asked)
	}
	if got, err := pin(want); err != nil || got != want {
		t.Errorf("pinned again: got %s, %v", got, err)
	}
	if _, err := pin("image: a\nsha256: " + strings.Repeat("0", 64)); err == nil {
		t.Error("a sha256 that does not fit was accepted")
	}
	for _, bad := range []string{"imge: a", "image: 'A B'", "{}", "image: [a]"} {
		if _, err := pin(bad); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
