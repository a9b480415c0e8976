package container_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/sandbox"
)

// fakeInspect is a shell command: a fake engine that has every image.
const fakeInspect = "if [ \"$2\" = inspect ]; then echo '{\"digests\":[\"'$5'\"]}'; fi\n"

// fakeNerdctl is a nerdctl that answers, and runs nothing.
func fakeNerdctl(t *testing.T) world {
	t.Helper()
	dir := t.TempDir()
	if err := filetest.WriteProgram(filepath.Join(dir, container.Nerdctl), []byte("#!/bin/sh\n"+fakeInspect)); err != nil {
		t.Fatal(err)
	}
	w := world{name: container.Nerdctl, env: []string{"PATH=" + dir}}
	w.shell = enginetest.Push(t, regtest.Start(t, regtest.Options{}).Host+"/a/b:v1", enginetest.Image{})
	return w
}

// TestNerdctlByName checks that nerdctl, which loses output, is used only by its name, with a
// warning.
func TestNerdctlByName(t *testing.T) {
	t.Parallel()
	w := fakeNerdctl(t)
	warned, options := "", w.options()
	options.Warn = func(text string) { warned += text }
	allow := sandbox.Allow{Host: w.env}
	mustLoad(t, container.New(options), "image: "+w.shell+"\n", allow)
	if !strings.Contains(warned, "nerdctl: it may lose the end of what a function writes") {
		t.Errorf("warned: %q", warned)
	}
	options.Runtime, warned = container.Auto, ""
	_, err := load(t, container.New(options), "image: "+w.shell+"\n", allow)
	var none *container.NoEngineError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "--runtime nerdctl uses it all the same") || warned != "" {
		t.Errorf("got %v, warned: %q", err, warned)
	}
}

// TestNerdctlMounts checks that a path that nerdctl would read as options is refused.
func TestNerdctlMounts(t *testing.T) {
	t.Parallel()
	w := fakeNerdctl(t)
	dir := t.TempDir()
	for _, m := range []sandbox.Mount{
		{Src: dir, Dst: "/a,b"}, {Src: dir, Dst: "/a:rw"}, {Src: dir, Dst: "/a\"b"}, {Type: "tmpfs", Dst: "/a:size=1g"},
	} {
		allow := sandbox.Allow{Host: w.env, Mounts: []sandbox.Mount{m}, MountAnywhere: true}
		_, err := load(t, container.New(w.options()), "image: "+w.shell+"\nrequireStorageMount: true\n", allow)
		if err == nil || !strings.Contains(err.Error(), "cannot be written for nerdctl") {
			t.Errorf("%+v: got %v", m, err)
		}
	}
}

// realNerdctl returns nerdctl, and an image with a shell. Tests with it use exit codes, since
// the end of the output may be lost.
func realNerdctl(t *testing.T) (w world, path string) {
	t.Helper()
	notUnderRace(t)
	w = world{name: container.Nerdctl, host: regtest.Start(t, regtest.Options{}).Host}
	w.env, path = enginetest.Nerdctl(t)
	w.shell = enginetest.Push(t, w.host+"/engines/shell:v1", enginetest.Shell(t))
	return w, path
}

// TestNerdctl runs the real one, sequentially: it fails if another of its containers is removed
// at the same time.
func TestNerdctl(t *testing.T) {
	t.Parallel()
	w, path := realNerdctl(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("mounted"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chmod(filepath.Join(dir, "file"), 0o644)); err != nil {
		t.Fatal(err)
	}
	allow := sandbox.Allow{
		Host: []string{"TOKEN=hunter2", "OTHER=secret"}, Env: []string{"TOKEN", "PLAIN=a=b c"},
		Mounts: []sandbox.Mount{{Src: dir, Dst: "/at it"}, {Type: "tmpfs", Dst: "/more", RW: true}}, MountAnywhere: true,
	}
	for line, code := range map[string]int{
		"exit 1":   1,
		"exit 125": 125,
		"exit 127": 127,
		"kill $$":  143,
		`echo note >&2; echo 'time="x" level=fatal msg=x' >&2; exit 1`:                                     1,
		`test $(id -u):$(id -g) = 65534:65534 && exit 9`:                                                   9,
		`test "$(cat)" = 'the input' && exit 9`:                                                            9,
		`touch /x; test ! -e /x && touch /tmp/x && exit 9`:                                                 9,
		`test $TOKEN$OTHER$STRUCTURED_RESULTS = hunter2true && test "$PLAIN" = 'a=b c' && exit 9`:          9,
		`test $(ls /sys/class/net) = lo && exit 9`:                                                         9,
		`test "$(cat '/at it/file')" = mounted && exit 9`:                                                  9,
		`touch '/at it/x'; test ! -e '/at it/x' && touch /more/x && exit 9`:                                9,
		`grep -q '^CapBnd:.0*$' /proc/self/status && grep -q '^NoNewPrivs:.1' /proc/self/status && exit 9`: 9,
	} {
		_, stderr, err := w.run(t, allow, w.shell, line, "requireStorageMount: true")
		var exit *fnexec.ExitError
		if !errors.As(err, &exit) || exit.Code != code {
			t.Errorf("%s: got %v and stderr %q", line, err, stderr)
		}
	}
	r := mustLoad(t, container.New(w.options()), fmt.Sprintf("image: %s\nargs: [test $(wc -c) = %d && exit 9]\n", w.shell, 8_000_000), sandbox.Allow{Host: w.env})
	var exit *fnexec.ExitError
	if err := r.Run(t.Context(), bytes.NewReader(make([]byte, 8_000_000)), &bytes.Buffer{}, &bytes.Buffer{}); !errors.As(err, &exit) || exit.Code != 9 {
		t.Errorf("a long input: got %v", err)
	}
	w.notStarted(t)
	w.renamed(t, path)
	w.cancelled(t, path)
	w.said(t)
}

// notStarted checks that a program that does not start is not reported as a failed function.
func (w world) notStarted(t *testing.T) {
	t.Helper()
	r := mustLoad(t, container.New(w.options()), "image: "+w.shell+"\ncommand: [/nope]\n", sandbox.Allow{Host: w.env})
	err := r.Run(t.Context(), strings.NewReader("x"), &bytes.Buffer{}, &bytes.Buffer{})
	var failed *engine.Error
	if !errors.As(err, &failed) || failed.Kind != engine.NoProgram {
		t.Errorf("a program that is not there: got %v", err)
	}
}

// renamed checks that an image with the name of another one is not run, whether nerdctl or an
// archive gave it that name.
func (w world) renamed(t *testing.T, nerdctl string) {
	t.Helper()
	evil := enginetest.Push(t, w.host+"/engines/evil:v1", enginetest.Shell(t, enginetest.Layer{"evil": {Data: []byte("evil")}}))
	enginetest.Call(t, w.env, nerdctl, "pull", "-q", evil)
	for name, give := range map[string]func(image string){
		"tagged": func(image string) { enginetest.Call(t, w.env, nerdctl, "tag", evil, image) },
		"loaded": func(image string) { enginetest.Call(t, w.env, nerdctl, "load", "-i", layoutNamed(t, evil, image)) },
	} {
		image := enginetest.Push(t, w.host+"/engines/"+name+":v1", enginetest.Shell(t, enginetest.Layer{name: {Data: []byte("good")}}))
		give(image)
		options, warned := w.options(), ""
		options.PullPolicy = container.PullNever
		spec := fmt.Sprintf("image: %s\nargs: [test ! -e /evil && test -e /%s && exit 9]\n", image, name)
		_, err := load(t, container.New(options), spec, sandbox.Allow{Host: w.env})
		var failed *engine.Error
		if !errors.As(err, &failed) || failed.Kind != engine.Refused || !strings.Contains(err.Error(), "is another image, ") {
			t.Errorf("%s, nothing is fetched: got %v", name, err)
		}
		options.PullPolicy, options.Warn = "", func(text string) { warned += text }
		r := mustLoad(t, container.New(options), spec, sandbox.Allow{Host: w.env})
		var exit *fnexec.ExitError
		if err := r.Run(t.Context(), strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}); !errors.As(err, &exit) || exit.Code != 9 {
			t.Errorf("%s: got %v", name, err)
		}
		if !strings.Contains(warned, image+" is another image, ") || !strings.Contains(warned, "it is pulled again") {
			t.Errorf("%s: warned %q", name, warned)
		}
	}
}

// layoutNamed writes an image as an archive that gives it a name, and returns its path.
func layoutNamed(t *testing.T, image, as string) string {
	t.Helper()
	dir := t.TempDir()
	ref, err := name.NewDigest(image)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	at, err := layout.Write(dir, empty.Index)
	if err == nil {
		err = at.AppendImage(img, layout.WithAnnotations(map[string]string{"io.containerd.image.name": as}))
	}
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "image.tar")
	out, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(out)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return archive
}

// TestAnotherImage checks that an engine's image runs only if it has the digest in its name.
func TestAnotherImage(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		container.Docker: `{"digests":["x@sha256:0"]}`, container.Nerdctl: `{"digests":null}`, container.Podman: `{}`,
	} {
		w := fakeNerdctl(t)
		w.name = name
		dir := strings.TrimPrefix(w.env[0], "PATH=")
		script := "#!/bin/sh\ncase \"$1\" in image) echo '" + said + "';; esac\n"
		if err := filetest.WriteProgram(filepath.Join(dir, name), []byte(script)); err != nil {
			t.Fatal(err)
		}
		_, err := load(t, container.New(w.options()), "image: "+w.shell+"\n", sandbox.Allow{Host: w.env})
		var failed *engine.Error
		if !errors.As(err, &failed) || failed.Kind != engine.Refused || !strings.Contains(err.Error(), "what it has under the name "+w.shell+" is another image, ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// cancelled checks that a cancelled call stops its container.
func (w world) cancelled(t *testing.T, nerdctl string) {
	t.Helper()
	r := mustLoad(t, container.New(w.options()), "image: "+w.shell+"\nargs: [echo up >&2; cat >/dev/null; while :; do :; done]\n", sandbox.Allow{Host: w.env})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	in, give, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	go func() {
		// Longer than all buffers: the container runs.
		_, _ = give.Write(make([]byte, 4<<20))
		_ = give.Close()
		cancel(enough)
	}()
	if err := r.Run(ctx, in, &bytes.Buffer{}, &bytes.Buffer{}); err == nil || !errors.Is(context.Cause(ctx), enough) {
		t.Errorf("got %v", err)
	}
	left := enginetest.Call(t, w.env, nerdctl, "ps", "-a", "--no-trunc", "--filter", "label=dev.krmcat.function", "--format", "{{.Image}}")
	if strings.Contains(left, w.shell) {
		t.Errorf("a container is left: %s", left)
	}
}

// said checks that the output of a function arrives, except for its end.
func (w world) said(t *testing.T) {
	t.Helper()
	const want, tries = "a line\nand the input\n", 5
	for range tries {
		out, _, err := w.run(t, sandbox.Allow{}, w.shell, "echo a line; echo and $(cat)")
		if err != nil || !strings.HasPrefix("a line\nand the input\n", out) {
			t.Fatalf("got %q, %v", out, err)
		}
		if out == want {
			return
		}
	}
	t.Errorf("%d calls did not give %q", tries, want)
}
