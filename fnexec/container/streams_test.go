package container_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/sandbox"
)

// TestUnreadInput checks that all output of a function arrives that ends before it has read its
// input. Podman's own copying loses the end of it in one of five calls.
func TestUnreadInput(t *testing.T) {
	t.Parallel()
	const calls, atOnce, size = 40, 4, 300_000
	input := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	engines(t, func(t *testing.T, w world) {
		r := mustLoad(t, container.New(w.options()), fmt.Sprintf("image: %s\nargs: [head -c %d /dev/zero]\n", w.shell, size), sandbox.Allow{Host: w.env})
		var g errgroup.Group
		g.SetLimit(atOnce)
		for range calls {
			g.Go(func() error {
				var out, stderr bytes.Buffer
				err := r.Run(t.Context(), bytes.NewReader(input), &out, &stderr)
				if out.Len() != size || err != nil {
					t.Errorf("got %d of %d bytes, stderr %q, %v", out.Len(), size, stderr.String(), err)
				}
				return nil
			})
		}
		_ = g.Wait()
	})
}

// TestPodmanStreams checks that an old or remote podman is recognised, which copies the streams.
func TestPodmanStreams(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	env := enginetest.Podman(t)
	podman, err := exec.LookPath(container.Podman)
	if err != nil {
		t.Fatal(err)
	}
	image := enginetest.Push(t, regtest.Start(t, regtest.Options{}).Host+"/engines/shell:v1", enginetest.Shell(t))
	for said, passes := range map[string]bool{"4.3.1": true, "5.0.0-rc1": true, "4.3.1 remote": false, "3.4.7": false, "unknown": false} {
		t.Run(said, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := filepath.Join(dir, "log")
			script := "#!/bin/sh\n[ \"$1\" != version ] || { echo '" + said + "'; exit; }\necho \"$@\" >>" + log + "\nexec " + podman + " \"$@\"\n"
			if err := filetest.WriteProgram(filepath.Join(dir, container.Podman), []byte(script)); err != nil {
				t.Fatal(err)
			}
			w := world{name: container.Podman, shell: image, env: append(slices.Clone(env), "PATH="+dir+":"+os.Getenv("PATH"))}
			warned := ""
			options := w.options()
			options.Warn = func(text string) { warned += text }
			r := mustLoad(t, container.New(options), "image: "+image+"\nargs: [cat]\n", sandbox.Allow{Host: w.env})
			var out, stderr bytes.Buffer
			err := r.Run(t.Context(), strings.NewReader("the input\n"), &out, &stderr)
			if out.String() != "the input\n" || stderr.String() != "" || err != nil {
				t.Errorf("got %q, stderr %q, %v", out.String(), stderr.String(), err)
			}
			if (warned == "") != passes {
				t.Errorf("warned: %q", warned)
			}
			calls, err := os.ReadFile(log)
			if err != nil || strings.Contains(string(calls), "passthrough") != passes || strings.Contains(string(calls), "-a STDOUT") == passes {
				t.Errorf("the calls %s, %v", calls, err)
			}
		})
	}
}

// TestDockerIsPodman checks that a docker that is podman gets no options of docker.
func TestDockerIsPodman(t *testing.T) {
	t.Parallel()
	notUnderRace(t)
	env := enginetest.Podman(t)
	dir := t.TempDir()
	const script = "#!/bin/sh\necho Emulate Docker CLI using podman. >&2\nexec podman \"$@\"\n"
	if err := filetest.WriteProgram(filepath.Join(dir, container.Docker), []byte(script)); err != nil {
		t.Fatal(err)
	}
	image := enginetest.Push(t, regtest.Start(t, regtest.Options{}).Host+"/engines/shell:v1", enginetest.Shell(t))
	env = append(slices.Clone(env), "PATH="+dir+":"+os.Getenv("PATH"))
	said := ""
	rt := container.New(container.Options{Runtime: container.Docker, Environ: env, Notify: func(text string) { said += text }})
	r := mustLoad(t, rt, "image: "+image+"\nargs: [cat; touch /tmp/x]\n", sandbox.Allow{Host: env})
	var out, stderr bytes.Buffer
	err := r.Run(t.Context(), strings.NewReader("the input\n"), &out, &stderr)
	if out.String() != "the input\n" || stderr.String() != "" || err != nil || !strings.Contains(said, "docker, which is podman") {
		t.Errorf("got %q, stderr %q, %v, said %q", out.String(), stderr.String(), err, said)
	}
}
