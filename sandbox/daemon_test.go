//go:build unix

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/sandbox"
)

func engineGrant(t *testing.T, a sandbox.Allow, r sandbox.Request) sandbox.Grant {
	t.Helper()
	g, err := a.Grant(r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// script writes a program in place of a container engine's.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engine")
	if err := filetest.WriteProgram(path, []byte("#!/bin/sh\n"+text)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEngine(t *testing.T) {
	t.Parallel()
	g := engineGrant(t, sandbox.Allow{Host: []string{"PATH=/usr/bin:/bin", "DOCKER_HOST=unix:///x", "KRMCAT_STEP=1"}}, sandbox.Request{})
	var out, stderr bytes.Buffer
	path := script(t, "cat; env; echo \"$@\"; echo note >&2; exit 7\n")
	err := g.RunContainerEngine(t.Context(), sandbox.ContainerEngineCmd{Path: path, Args: []string{"run", "x"}, Env: []string{"MORE=1"}, Stop: []string{"never"}},
		sandbox.Streams{Stdin: strings.NewReader("input\n"), Stdout: &out, Stderr: &stderr})
	if code, ok := sandbox.ExitCode(err); !ok || code != 7 {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"input\n", "DOCKER_HOST=unix:///x\n", "MORE=1\n", "run x\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in %s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "KRMCAT_STEP") || strings.Contains(out.String(), "never") || stderr.String() != "note\n" {
		t.Errorf("got %s and %s", out.String(), stderr.String())
	}
}

func TestEngineRefuses(t *testing.T) {
	t.Parallel()
	if err := (sandbox.Grant{}).RunContainerEngine(t.Context(), sandbox.ContainerEngineCmd{Path: "/bin/true"}, sandbox.Streams{}); !errors.Is(err, sandbox.ErrNotGranted) {
		t.Errorf("got %v", err)
	}
	g := engineGrant(t, sandbox.Allow{}, sandbox.Request{})
	for _, path := range []string{"docker", "./docker", filepath.Join(t.TempDir(), "none")} {
		if err := g.RunContainerEngine(t.Context(), sandbox.ContainerEngineCmd{Path: path}, sandbox.Streams{}); err == nil {
			t.Errorf("%s was started", path)
		}
	}
}

// writes reports the first write.
type writes struct{ once chan struct{} }

func (w writes) Write(p []byte) (int, error) {
	select {
	case w.once <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TestEngineStops checks that the program is killed and called once more to stop the container.
func TestEngineStops(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ stop, want string }{
		"well":  {"", ""},
		"badly": {"echo no such thing; exit 1", "stopping the container: no such thing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := filepath.Join(t.TempDir(), "told")
			path := script(t, "if [ \"$1\" = stop ]; then echo \"$2\" >'"+told+"'; "+c.stop+"\nexit; fi\necho started; while :; do sleep 60; done\n")
			g := engineGrant(t, sandbox.Allow{Host: []string{"PATH=/usr/bin:/bin"}}, sandbox.Request{})
			ctx, cancel := context.WithCancel(t.Context())
			started := writes{make(chan struct{}, 1)}
			go func() {
				<-started.once
				cancel()
			}()
			err := g.RunContainerEngine(ctx, sandbox.ContainerEngineCmd{Path: path, Stop: []string{"stop", "name"}}, sandbox.Streams{Stdout: started})
			var stop *sandbox.StopError
			if got := errors.As(err, &stop); got != (c.want != "") || got && stop.Error() != c.want {
				t.Errorf("got %v", err)
			}
			if data, err := os.ReadFile(told); err != nil || string(data) != "name\n" {
				t.Errorf("it was told %q, %v", data, err)
			}
		})
	}
}

func TestEngineEnv(t *testing.T) {
	t.Parallel()
	g := engineGrant(t, sandbox.Allow{
		Host: []string{"TOKEN=secret", "SAME=1"}, Env: []string{"TOKEN", "A=b=c", "NONE", "SAME=1"},
	}, sandbox.Request{Env: []string{"TOKEN=other"}})
	want := []string{"TOKEN", "A=b=c", "SAME", "TOKEN=other"}
	if got := g.ContainerEnv(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (sandbox.Grant{}).ContainerEnv(); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

func TestContainerUser(t *testing.T) {
	t.Parallel()
	if u := engineGrant(t, sandbox.Allow{}, sandbox.Request{}).ContainerUser(); u != "" {
		t.Errorf("got %q", u)
	}
	if u := engineGrant(t, sandbox.Allow{User: "7:8"}, sandbox.Request{}).ContainerUser(); u != "7:8" {
		t.Errorf("got %q", u)
	}
	if u := engineGrant(t, sandbox.Allow{User: "7:8", AsCurrentUser: true}, sandbox.Request{}).ContainerUser(); u == "7:8" || !strings.Contains(u, ":") {
		t.Errorf("got %q", u)
	}
}
