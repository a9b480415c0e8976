package container_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/sandbox"
)

// world is a container engine with images for it.
type world struct {
	name  string
	env   []string
	host  string // of the registry
	shell string // an image with a shell
	named string // an image whose /etc/passwd gives the name nobody to another user
}

// engines runs a test with each real container engine.
func engines(t *testing.T, test func(t *testing.T, w world)) {
	t.Helper()
	notUnderRace(t)
	for name, env := range map[string]func(testing.TB) []string{
		container.Docker: enginetest.Docker, container.Podman: enginetest.Podman,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world{name: name, env: env(t), host: regtest.Start(t, regtest.Options{}).Host}
			w.shell = enginetest.Push(t, w.host+"/engines/shell:v1", enginetest.Shell(t))
			w.named = enginetest.Push(t, w.host+"/engines/named:v1", enginetest.Shell(t, enginetest.Layer{
				"etc/passwd": {Data: []byte("nobody:x:1234:5678::/:/bin/sh\n"), Mode: 0o644},
				"bin/script": {Data: []byte("#!/nope/sh\n")},
				"bin/text":   {Data: []byte("no program")},
			}))
			test(t, w)
		})
	}
}

func (w world) options() container.Options {
	return container.Options{Runtime: w.name, Environ: w.env}
}

// run runs a line of shell in an image.
func (w world) run(t *testing.T, allow sandbox.Allow, image, line string, more ...string) (stdout, stderr string, err error) {
	t.Helper()
	allow.Host = append(slices.Clip(allow.Host), w.env...)
	spec := "image: " + image + "\nargs:\n- |\n  " + line + "\n" + strings.Join(more, "\n")
	r := mustLoad(t, container.New(w.options()), spec, allow)
	var out, diagnostics bytes.Buffer
	err = r.Run(t.Context(), strings.NewReader("the input\n"), &out, &diagnostics)
	return out.String(), diagnostics.String(), err
}

// TestExitCodes checks that a function may exit with the exit codes of an engine's own failures.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		for line, code := range map[string]int{
			"echo note >&2; exit 1":   1,
			"echo note >&2; exit 125": 125,
			"echo note >&2; exit 126": 126,
			"echo 'docker: Error response from daemon: note' >&2; exit 127": 127,
		} {
			_, stderr, err := w.run(t, sandbox.Allow{}, w.shell, line)
			var exit *fnexec.ExitError
			if !errors.As(err, &exit) || exit.Code != code || !strings.HasSuffix(stderr, "note\n") {
				t.Errorf("%s: got %v and stderr %q", line, err, stderr)
			}
		}
	})
}

// TestNobody checks that a function is nobody by number, not by the image's name, and not in the
// group of root; and that its input is complete.
func TestNobody(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`\([^)]*\)`) // podman prints a name for every number
	engines(t, func(t *testing.T, w world) {
		for image, id := range map[string]string{w.shell: "uid=65534 gid=65534", w.named: "uid=65534 gid=65534"} {
			out, stderr, err := w.run(t, sandbox.Allow{}, image, "cat; id")
			out = names.ReplaceAllString(out, "")
			if err != nil || !strings.HasPrefix(out, "the input\n"+id) || stderr != "" {
				t.Errorf("got %q, stderr %q, %v", out, stderr, err)
			}
		}
		for user, id := range map[string]string{"7:8": "uid=7 gid=8", "7": "uid=7 gid=7", "nobody": "uid=1234 gid=5678"} {
			out, _, err := w.run(t, sandbox.Allow{User: user}, w.named, "id")
			if out = names.ReplaceAllString(out, ""); err != nil || !strings.HasPrefix(out, id) {
				t.Errorf("as %s: got %q, %v", user, out, err)
			}
		}
	})
}

// TestProxies checks that no function gets the proxies of docker's config, with their password,
// unless the user passes them.
func TestProxies(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		config := t.TempDir()
		const text = `{"proxies": {"default": {"httpProxy": "http://u:secret@proxy:1", "httpsProxy": "http://u:secret@proxy:1", "noProxy": "secret", "allProxy": "http://u:secret@proxy:1"}}}`
		if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		w.env = append(slices.Clone(w.env), "DOCKER_CONFIG="+config)
		out, _, err := w.run(t, sandbox.Allow{}, w.shell, "env")
		if err != nil || strings.Contains(out, "secret") {
			t.Errorf("got %q, %v", out, err)
		}
		out, _, err = w.run(t, sandbox.Allow{Env: []string{"HTTP_PROXY=http://mine:2"}}, w.shell, "env")
		if err != nil || strings.Contains(out, "secret") || !strings.Contains(out, "HTTP_PROXY=http://mine:2") {
			t.Errorf("got %q, %v", out, err)
		}
	})
}

// TestEngineErrors checks that errors of engines are clear, and are not the function's.
func TestEngineErrors(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		const missing = ": the program, or the interpreter that it names, is not in the image"
		for line, want := range map[string]string{
			"command: [/bin/nope]":   w.name + missing,
			"command: [nope]":        w.name + missing,
			"command: [/bin]":        w.name + ": the program cannot be run",
			"command: [/etc/passwd]": w.name + ": the program cannot be run",
			"command: [/bin/script]": w.name + missing,
		} {
			_, stderr, err := w.run(t, sandbox.Allow{}, w.named, "true", line)
			var failed *engine.Error
			if !errors.As(err, &failed) || !strings.HasPrefix(err.Error(), want) || stderr != "" {
				t.Errorf("%s: got %v and stderr %q", line, err, stderr)
			}
			if failed != nil && failed.Kind != engine.NoProgram {
				t.Errorf("%s: it is of kind %q", line, failed.Kind)
			}
			var exit *fnexec.ExitError
			if errors.As(err, &exit) || strings.Contains(err.Error(), "--help") {
				t.Errorf("%s: got %v", line, err)
			}
		}
		// A text file is run by the image's shell, as by any shell.
		_, stderr, err := w.run(t, sandbox.Allow{}, w.named, "true", "command: [/bin/text]")
		var exit *fnexec.ExitError
		if !errors.As(err, &exit) || exit.Code != 127 || !strings.Contains(stderr, "/bin/text") {
			t.Errorf("a text: got %v and stderr %q", err, stderr)
		}
		o := w.options()
		o.PullPolicy = container.PullNever
		never := enginetest.Push(t, w.host+"/engines/never:v1", enginetest.Image{Config: v1.Config{Entrypoint: []string{"/never"}}})
		_, err = load(t, container.New(o), "image: "+never, sandbox.Allow{Host: w.env})
		if err == nil || !strings.Contains(err.Error(), "the image is not on this machine, and the pull policy is Never") {
			t.Errorf("got %v", err)
		}
	})
}

// TestUnfit checks that an image that does not run here is not reported as a failed function.
func TestUnfit(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		windows := enginetest.Push(t, w.host+"/engines/windows:v1", enginetest.Image{OS: "windows", Arch: "amd64", Config: v1.Config{Entrypoint: []string{"/x"}}})
		_, err := load(t, container.New(w.options()), "image: "+windows, sandbox.Allow{Host: w.env})
		if !errors.As(err, new(*image.UnfitError)) || !strings.Contains(err.Error(), "it is for windows/amd64, and this machine runs linux/") {
			t.Errorf("got %v", err)
		}
		other := enginetest.Push(t, w.host+"/engines/other:v1", enginetest.Image{Arch: "s390x", Layers: []enginetest.Layer{{"x": {Data: []byte("no program")}}}, Config: v1.Config{Entrypoint: []string{"/x"}}})
		r := mustLoad(t, container.New(w.options()), "image: "+other, sandbox.Allow{Host: w.env})
		err = r.Run(t.Context(), strings.NewReader(""), io.Discard, io.Discard)
		var failed *engine.Error
		if !errors.As(err, &failed) || failed.Kind != engine.NoProgram || !strings.Contains(err.Error(), "the image is for linux/s390x, and this machine is linux/") {
			t.Errorf("got %v", err)
		}
		none := enginetest.Push(t, w.host+"/engines/none:v1", enginetest.Image{Layers: []enginetest.Layer{{"x": {}}}})
		for image, kind := range map[string]engine.FailureKind{none: engine.NoProgram, w.file(t): engine.Unfit} {
			r := mustLoad(t, container.New(w.options()), "image: "+image, sandbox.Allow{Host: w.env})
			err := r.Run(t.Context(), strings.NewReader(""), io.Discard, io.Discard)
			var failed *engine.Error
			if !errors.As(err, &failed) || failed.Kind != kind {
				t.Errorf("got %+v", err)
			}
		}
	})
}

// file is an image whose working directory is a file.
func (w world) file(t *testing.T) string {
	t.Helper()
	image := enginetest.Shell(t, enginetest.Layer{"etc/passwd": {Data: []byte("x")}})
	image.Config.WorkingDir = "/etc/passwd"
	return enginetest.Push(t, w.host+"/engines/file:v1", image)
}

// TestIndex checks that an image of several platforms runs by the digest of its index.
func TestIndex(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		image := enginetest.PushIndex(t, w.host+"/engines/index:v1", enginetest.Shell(t), enginetest.Image{Arch: "s390x", Layers: []enginetest.Layer{{"x": {}}}})
		for range 2 { // first pulled, then local
			if out, stderr, err := w.run(t, sandbox.Allow{}, image, "cat"); err != nil || out != "the input\n" {
				t.Errorf("got %q, stderr %q, %v", out, stderr, err)
			}
		}
	})
}

// TestTemp checks that /tmp belongs to the function, whatever its mode in the image.
func TestTemp(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		image := enginetest.Push(t, w.host+"/engines/temp:v1", enginetest.Shell(t, enginetest.Layer{"tmp/x": {Data: []byte("x")}}))
		for _, user := range []string{"", "7:8", "7", "0"} {
			out, _, err := w.run(t, sandbox.Allow{User: user}, image, "touch /tmp/y && echo yes")
			if err != nil || out != "yes\n" {
				t.Errorf("%s: got %q, %v", user, out, err)
			}
		}
	})
}

// TestHeldTo checks that a container has what was granted and no more.
func TestHeldTo(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a,\"b"), []byte("mounted\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		allow := sandbox.Allow{
			Host: []string{"TOKEN=hunter2", "OTHER=secret"}, Env: []string{"TOKEN", "PLAIN=a=b c"},
			Mounts: []sandbox.Mount{{Src: dir, Dst: "/here, and there"}}, MountAnywhere: true,
		}
		for line, want := range map[string]string{
			"touch /x || echo no":      "no\n",
			"touch /tmp/x && echo yes": "yes\n",
			"echo $TOKEN $PLAIN $OTHER $STRUCTURED_RESULTS $LOG_TO_STDERR":      "hunter2 a=b c true true\n",
			"cat '/here, and there/a,\"b'; touch '/here, and there/c'||echo no": "mounted\nno\n",
			"ls /sys/class/net": "lo\n",
			"while read k v; do case $k in Cap*|NoNew*) echo $k$v;; esac; done </proc/self/status": "" +
				"CapInh:0000000000000000\nCapPrm:0000000000000000\nCapEff:0000000000000000\nCapBnd:0000000000000000\nCapAmb:0000000000000000\nNoNewPrivs:1\n",
		} {
			out, _, err := w.run(t, allow, w.shell, line, "requireStorageMount: true")
			if err != nil || out != want {
				t.Errorf("%s: got %q, %v", line, out, err)
			}
		}
	})
}

// TestNoDaemon checks the error if docker's daemon does not run.
func TestNoDaemon(t *testing.T) {
	t.Parallel()
	enginetest.Docker(t)
	reg := regtest.Start(t, regtest.Options{})
	image := enginetest.Push(t, reg.Host+"/a/b:v1", enginetest.Image{})
	env := []string{"PATH=" + os.Getenv("PATH"), "DOCKER_HOST=unix://" + filepath.Join(t.TempDir(), "none")}
	_, err := load(t, container.New(container.Options{Runtime: container.Docker, Environ: env}), "image: "+image, sandbox.Allow{Host: env})
	var none *container.NoEngineError
	if !errors.As(err, &none) || !strings.HasPrefix(err.Error(), "it cannot be run by docker: its daemon does not run") {
		t.Errorf("got %v", err)
	}
}

// TestNoSecretsInArguments checks that the arguments of the engine's program name a variable
// without its value.
func TestNoSecretsInArguments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := filepath.Join(dir, "seen")
	fake := "#!/bin/sh\n" + fakeInspect + "if [ \"$1\" = run ]; then echo \"$@\" >'" + seen + "'; cat; fi\n"
	if err := filetest.WriteProgram(filepath.Join(dir, "docker"), []byte(fake)); err != nil {
		t.Fatal(err)
	}
	w := world{name: container.Docker, env: []string{"PATH=" + dir + ":/usr/bin:/bin", "TOKEN=hunter2"}}
	image := enginetest.Push(t, regtest.Start(t, regtest.Options{}).Host+"/a/b:v1", enginetest.Image{})
	out, _, err := w.run(t, sandbox.Allow{Env: []string{"TOKEN"}}, image, "true")
	if err != nil || out != "the input\n" {
		t.Fatalf("got %q, %v", out, err)
	}
	args, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(args); strings.Contains(s, "hunter2") || !strings.Contains(s, " -e TOKEN ") || !strings.Contains(s, " "+image+" ") {
		t.Errorf("got %s", s)
	}
}

// TestVolumes checks that a volume that an image declares takes no space on this machine's disk,
// and that a tmpfs has a limit.
func TestVolumes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, w world) {
		image := enginetest.Shell(t, enginetest.Layer{"v/x": {Data: []byte("x")}, "a, b/x": {Data: []byte("x")}})
		image.Config.Volumes = map[string]struct{}{"/v": {}, "/a, b/": {}, "/tmp": {}, "/mine": {}}
		pushed := enginetest.Push(t, w.host+"/engines/volumes:v1", image)
		p := "mounts: [{type: tmpfs, dst: /mine}]"
		for line, want := range map[string]string{
			"touch /v/y '/a, b/y' 2>/dev/null || echo no":                                 "no\n",
			"touch /tmp/y && echo yes":                                                    "yes\n",
			"touch /mine/y && echo yes":                                                   "yes\n",
			"while read a b c d; do case $b in /mine) echo $d;; esac; done </proc/mounts": "size=",
		} {
			out, _, err := w.run(t, sandbox.Allow{}, pushed, line, p)
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%s: got %q, %v", line, out, err)
			}
		}
	})
}
