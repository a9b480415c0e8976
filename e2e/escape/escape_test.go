//go:build linux

package escape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/regtest"
)

// cage is one way to confine functions.
type cage struct {
	name    string
	runtime string
	image   bool // functions are images, not programs of this machine
	asUser  bool // a user who is not root runs krmcat
	daemon  bool // an engine with limits and filters of its own
	slow    bool // attempts share one call of the function where possible
	off     bool // nothing is confined
}

func cages() []cage {
	var out []cage
	for _, r := range []string{"bwrap", "native"} {
		out = append(out, cage{name: "exec-" + r, runtime: r}, cage{name: "image-" + r, runtime: r, image: true},
			cage{name: "exec-" + r + "-as-user", runtime: r, asUser: true})
	}
	for _, r := range []string{"docker", "podman"} {
		out = append(out, cage{name: "image-" + r, runtime: r, image: true, slow: true, daemon: true})
	}
	return out
}

// escaping is a cage on a machine with secrets and services.
type escaping struct {
	cage
	*outside
	ref string   // reference of the image with the program
	env []string // the environment for reaching the engine
}

// TestEscape has a function try to get out of its sandbox in every way we know, and calls it by
// krmcat render. Every attempt fails, the render reports it, and leaves no trace on this machine.
// The same attempts succeed where nothing confines them.
func TestEscape(t *testing.T) { //nolint:paralleltest // the heavy attempts are to be alone
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	w := newOutside(t)
	host := regtest.Start(t, regtest.Options{}).Host
	data, err := os.ReadFile(w.program)
	if err != nil {
		t.Fatal(err)
	}
	i := enginetest.Image{Layers: []enginetest.Layer{{
		"escape":     {Data: data},
		"bin/setuid": {Data: data, Mode: 0o4755},
		"secret":     {Data: []byte("secret of the image")},
	}}}
	i.Config.Entrypoint = []string{"/escape"}
	image := enginetest.Push(t, host+"/escape/escape:v1", i)
	t.Run("quiet", func(t *testing.T) {
		for _, c := range cages() {
			e := escaping{c, w, image, os.Environ()}
			t.Run(c.name, func(t *testing.T) { t.Parallel(); e.quiet(t) })
		}
	})
	if n := w.servers.hits.Load(); n != 0 {
		t.Errorf("the functions reached services of this machine %d times", n)
	}
	for _, c := range cages() {
		e := escaping{c, w, image, os.Environ()}
		t.Run(c.name, e.heavy)
	}
	e := escaping{cage{name: "control", off: true}, w, image, os.Environ()}
	t.Run(e.name, e.control)
}

// needed skips a test whose cage this machine cannot have.
func (e escaping) needed(t *testing.T) escaping {
	if e.asUser && os.Geteuid() != 0 || !e.asUser && e.runtime == "docker" && os.Geteuid() != 0 {
		enginetest.Missing(t, "only root can test %s", e.name)
	}
	switch e.runtime {
	case "docker":
		e.env = enginetest.Docker(t)
	case "podman":
		e.env = enginetest.Podman(t)
	}
	got := e.render(t, attempt{name: "trial", args: []string{"read", "/nowhere"}})
	if got.code != 3 {
		enginetest.Missing(t, "%s: exit code %d: %s", e.name, got.code, got.stderr)
	}
	return e
}

// quiet makes all attempts that need few resources.
func (e escaping) quiet(t *testing.T) {
	e = e.needed(t)
	var together []attempt
	for _, a := range e.attempts() {
		switch {
		case a.heavy:
		case e.slow && !a.ends && !a.terminal && a.said == "" && a.holds == nil:
			together = append(together, a)
		default:
			t.Run(a.name, func(t *testing.T) { e.alone(t, a) })
		}
	}
	if together != nil {
		e.batch(t, together)
	}
}

// heavy makes the attempts that exhaust a resource of the machine, one at a time.
func (e escaping) heavy(t *testing.T) {
	e = e.needed(t)
	for _, a := range e.attempts() {
		if a.heavy {
			t.Run(a.name, func(t *testing.T) { e.alone(t, a) })
		}
	}
}

// alone makes one attempt, and checks that it is refused.
func (e escaping) alone(t *testing.T, a attempt) {
	if a.holds != nil && a.holds(e.cage) != "" {
		t.Skip("NOT HELD: " + a.holds(e.cage))
	}
	e.refused(t, a, e.render(t, a))
}

// batch makes several attempts in one call of the function, for engines where a call is slow.
func (e escaping) batch(t *testing.T, all []attempt) {
	one := attempt{name: "batch", args: []string{"batch"}, flags: []string{"-v"}} // -v prints all of the function's stderr
	target := e.target(t, one)
	for _, a := range all {
		if a.setup != nil {
			a.setup(t, e.outside, target)
		}
		one.args = append(append(one.args, "--"), a.args...)
	}
	got := e.renderIn(t, one, target)
	if got.code != 3 || got.stdout != "" {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	for i, a := range all {
		t.Run(a.name, func(t *testing.T) {
			if !strings.Contains(got.stderr, fmt.Sprintf("attempt %d refused: ", i)) {
				_, after, _ := strings.Cut(got.stderr, fmt.Sprintf("attempt %d ", i))
				line, _, _ := strings.Cut(after, "\n")
				t.Errorf("attempt %s", line)
			}
			if a.wall != "" && !strings.Contains(got.stderr, a.wall) {
				t.Errorf("the output does not contain %q", a.wall)
			}
			if a.after != nil {
				a.after(t, e.outside, target, false)
			}
		})
	}
}

// refused checks the result of an attempt in a cage.
func (e escaping) refused(t *testing.T, a attempt, got ending) {
	if a.after != nil {
		defer a.after(t, e.outside, got.target, false)
	}
	if a.ends {
		if got.code != 0 && got.code != 3 {
			t.Errorf("exit code %d\n%s", got.code, got.stderr)
		}
		return
	}
	if strings.Contains(got.stdout+got.stderr, "ESCAPED") || strings.Contains(got.stderr, "UNKNOWN") {
		t.Fatalf("it escaped: %s%s", got.stdout, got.stderr)
	}
	if got.code != 3 || got.stdout != "" {
		t.Errorf("exit code %d, want 3\n%s%s", got.code, got.stdout, got.stderr)
	}
	// The kernel kills a process over its limit of memory. Nothing remains to report the limit.
	killed := a.wall == noMemory && strings.Contains(got.stderr, "exit code 137")
	for _, want := range []string{"the function failed", "Escape " + a.name, a.wall, a.said} {
		if !strings.Contains(got.stderr, want) && !(killed && want == a.wall) {
			t.Errorf("the output does not contain %q: %s", want, got.stderr)
		}
	}
}

// control makes the attempts without a sandbox. They must succeed, or their failure in a cage shows
// nothing.
func (e escaping) control(t *testing.T) {
	for i := range e.attempts() {
		a := e.attempts()[i] // the attempts anew: a killed victim is replaced
		t.Run(a.name, func(t *testing.T) {
			switch {
			case a.unfree != "":
				t.Skip("NOT TESTED without a sandbox: " + a.unfree)
			case a.asUser && os.Geteuid() != 0 || os.Geteuid() != 0 && !a.heavy:
				enginetest.Missing(t, "only root can make this attempt without a sandbox")
			}
			if a.free != nil {
				a.args = a.free
			}
			c := e
			c.asUser = a.asUser
			got := c.render(t, a)
			if a.after != nil {
				a.after(t, e.outside, got.target, true)
			}
			if !strings.Contains(got.stdout+got.stderr, "ESCAPED") && got.code >= 0 && got.code != interrupted {
				t.Errorf("it was refused: %d\n%s", got.code, got.stderr)
			}
		})
	}
}

// interrupted is krmcat's exit code after a signal that interrupts it.
const interrupted = 130

// ending is the result of a render.
type ending struct {
	code           int // below 0 if a signal ended it
	stdout, stderr string
	target         string
}

// target creates a directory whose only function makes an attempt.
func (e escaping) target(t *testing.T, a attempt) string {
	dir := filepath.Join(e.base, "apps", e.name+"-"+a.name+"-"+strconv.FormatInt(time.Now().UnixNano(), 36))
	e.file(t, filepath.Join(dir, "kustomization.yaml"), "generators: [fn.yaml]\n")
	return dir
}

func (e escaping) render(t *testing.T, a attempt) ending {
	target := e.target(t, a)
	if a.setup != nil {
		a.setup(t, e.outside, target)
	}
	return e.renderIn(t, a, target)
}

// renderTimeout is far longer than any render takes.
const renderTimeout = time.Minute

// renderIn renders a target with a function that makes the attempt.
func (e escaping) renderIn(t *testing.T, a attempt, target string) ending {
	t.Helper()
	var args []string
	for _, s := range a.args {
		if rest, ok := strings.CutPrefix(s, "@"); ok && (rest == "" || rest[0] == '/') {
			s = target + rest
		}
		s = strings.Replace(s, "$CACHE", e.cache(), 1)
		args = append(args, strconv.Quote(s))
	}
	how := "exec: {path: " + e.program
	if e.image {
		how = "container: {image: " + e.ref
	}
	e.file(t, filepath.Join(target, "fn.yaml"), `apiVersion: example.com/v1
kind: Escape
metadata:
  name: `+a.name+`
  annotations:
    config.kubernetes.io/function: |
      `+how+", args: ["+strings.Join(args, ", ")+"]}\n")
	flags := append([]string{"krmcat", "render", target, "--enable-alpha-plugins", "--enable-exec"}, a.flags...)
	if !e.image { // the program is outside of the target
		flags = append(flags, "--load-restrictor", "LoadRestrictionsNone")
	}
	if e.off {
		flags = append(flags, "--confine", "off")
	} else {
		flags = append(flags, "--confine", "require", "--runtime", e.runtime)
	}
	ctx, cancel := context.WithTimeout(t.Context(), renderTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.krmcat)
	cmd.Args, cmd.Dir, cmd.Env = flags, target, e.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if e.asUser {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: escapee, Gid: escapee}
	}
	if a.terminal {
		cmd.Stdin = openTerminal(t)
		cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return ending{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String(), target}
}

// cache returns krmcat's cache directory.
func (e escaping) cache() string {
	if e.asUser {
		return e.place("cache-54322")
	}
	return e.place("cache-0")
}

// environ returns krmcat's environment: that of a user with secrets in many places.
func (e escaping) environ() []string {
	return append(slices.Clone(e.env), "HOME="+e.place("home"), "DOCKER_CONFIG="+e.place("docker"), "KUBECONFIG="+e.place("kube/config"),
		"SSH_AUTH_SOCK="+e.place("home/agent.sock"), "KRMCAT_CACHE_DIR="+e.cache(), "SECRET="+secretText, "GOCOVERDIR="+e.temp)
}

// leftBehind looks for processes that a function left running, and kills them.
func leftBehind(t *testing.T, target string, free bool) {
	end := time.Now().Add(5 * time.Second)
	left := lingering(target)
	for ; !free && left != nil && time.Now().Before(end); left = lingering(target) {
		time.Sleep(10 * time.Millisecond) // killed processes may take a moment to end
	}
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	switch {
	case free && left == nil:
		t.Error("it left no process running")
	case !free && left != nil:
		t.Errorf("it left %d processes running", len(left))
	}
	if _, err := os.Stat(filepath.Join(target, "still-here")); err == nil {
		t.Error("a process that it left running wrote a file")
	}
}
