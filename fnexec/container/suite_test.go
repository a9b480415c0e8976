package container_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/fnexec/fnexectest"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// load loads an image as a function, as a render does.
func load(t testing.TB, rt *container.Runtime, spec string, allow sandbox.Allow) (fnexec.Runner, error) {
	t.Helper()
	n, err := yaml.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := rt.Prepare(n, fnexec.Site{Inline: true, Dir: t.TempDir(), Work: t.TempDir()})
	if err != nil {
		return nil, err
	}
	c, err := registry.New(registry.Options{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Resolve(t.Context(), p.Needs.From, p.Needs.Want)
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := verify.Verify(t.Context(), verify.Subject{Artifact: a, Promised: p.Needs.Promised}, verify.UserFlag{Flag: "--test"})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := allow.Grant(p.Needs.Request)
	if err != nil {
		t.Fatal(err)
	}
	return p.Load(t.Context(), trusted, grant)
}

func mustLoad(t testing.TB, rt *container.Runtime, spec string, allow sandbox.Allow) fnexec.Runner {
	t.Helper()
	r, err := load(t, rt, spec, allow)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// notUnderRace skips tests that take minutes in other processes, which the race detector does
// not see.
func notUnderRace(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("NOT TESTED by the race detector: what goes on is in other processes, which the race detector does not see")
	}
}

// suite runs the suite with a container engine.
func suite(t *testing.T, engine string, env []string) {
	t.Helper()
	notUnderRace(t)
	reg := regtest.Start(t, regtest.Options{})
	image := enginetest.Push(t, reg.Host+"/suite/function:v1", enginetest.Functions(t))
	rt := container.New(container.Options{Runtime: engine, Environ: env})
	fnexectest.Run(t, fnexectest.Suite{
		Slowness:  5,
		Variables: []string{"HOSTNAME", "TERM", "container"},
		Make: func(t *testing.T, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
			allow.Host = append(allow.Host, env...)
			return mustLoad(t, rt, fmt.Sprintf("image: %s\nargs: [%s]\n", image, b), allow)
		},
	})
	t.Cleanup(func() {
		if left := strings.TrimSpace(enginetest.Call(t, env, engine, "ps", "-aq", "--filter", "label=dev.krmcat.function", "--filter", "ancestor="+image)); left != "" {
			t.Errorf("containers are left: %s", left)
		}
	})
}

// host returns this machine with one engine. It skips the test if the engine does not work.
func host(t testing.TB, engine sandbox.Engine) *sandbox.Host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self, Engines: []sandbox.Engine{engine}})
	if _, _, err := h.Engine(t.Context()); err != nil {
		enginetest.Missing(t, "%v", err)
	}
	return h
}

// imageVariable names the image for a test that runs as another user, who can neither build one
// nor start a registry.
const imageVariable = "KRMCAT_TEST_IMAGE"

// TestEngines runs the suite with each engine of package sandbox.
func TestEngines(t *testing.T) {
	t.Parallel()
	image := os.Getenv(imageVariable)
	if image == "" {
		reg := regtest.Start(t, regtest.Options{})
		image = enginetest.Push(t, reg.Host+"/suite/function:v1", enginetest.Functions(t))
	}
	cache := t.TempDir()
	for _, engine := range sandbox.AllEngines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			if underRace && engine != sandbox.Native {
				t.Skip("NOT TESTED by the race detector: it makes this program need a C library, which no image has")
			}
			on := host(t, engine)
			rt := container.New(container.Options{Runtime: string(engine), Host: on, CacheDir: cache})
			fnexectest.Run(t, fnexectest.Suite{
				Make: func(t *testing.T, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
					allow.On = on
					return mustLoad(t, rt, fmt.Sprintf("image: %s\nargs: [%s]\n", image, b), allow)
				},
			})
		})
	}
}

func TestDocker(t *testing.T) {
	t.Parallel()
	suite(t, container.Docker, enginetest.Docker(t))
}

func TestPodman(t *testing.T) {
	t.Parallel()
	suite(t, container.Podman, enginetest.Podman(t))
}
