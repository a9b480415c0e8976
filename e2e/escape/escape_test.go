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

// cage is one way of confining functions.
type cage struct {
	name    string
	runtime string
	image   bool // functions are images; else programs of this machine
	asUser  bool // krmcat is run by a user who is not root
	daemon  bool // an engine of its own, with limits and filters of its own
	slow    bool // attempts are made together where they can be
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

// escaping is a cage in its surroundings.
type escaping struct {
	cage
	*outside
	ref string   // of the image with the program
	env []string // the environment in which its engine is reached
}

// TestEscape has a function try whatever it can to get out of its sandbox, through the
// front door: every attempt fails, the render says so, and nothing of it is to be seen on
// this machine. The same attempts succeed where nothing confines them.
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
		"secret":     {Data: []byte("of the image's own")},
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
		t.Errorf("services of this machine were reached %d times", n)
	}
	for _, c := range cages() {
		e := escaping{c, w, image, os.Environ()}
		t.Run(c.name, e.heavy)
	}
	e := escaping{cage{name: "control", off: true}, w, image, os.Environ()}
	t.Run(e.name, e.control)
}

// needed ends a test whose cage is not to be had on this machine.
func (e escaping) needed(t *testing.T) escaping {
	if e.asUser && os.Geteuid() != 0 || !e.asUser && e.runtime == "docker" && os.Geteuid() != 0 {
		enginetest.Missing(t, "%s is for root to test", e.name)
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

// quiet makes all attempts that use nothing up.
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

// heavy makes those that use the machine up, alone.
func (e escaping) heavy(t *testing.T) {
	e = e.needed(t)
	for _, a := range e.attempts() {
		if a.heavy {
			t.Run(a.name, func(t *testing.T) { e.alone(t, a) })
		}
	}
}

// alone makes one attempt, and expects it to be refused.
func (e escaping) alone(t *testing.T, a attempt) {
	if a.holds != nil && a.holds(e.cage) != "" {
		t.Skip("NOT HELD: " + a.holds(e.cage))
	}
	e.refused(t, a, e.render(t, a))
}

// batch makes several attempts in one call of the function, where a call is slow.
func (e escaping) batch(t *testing.T, all []attempt) {
	one := attempt{name: "batch", args: []string{"batch"}, flags: []string{"-v"}} // which shows all that it says
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
				t.Errorf("no word of %q", a.wall)
			}
			if a.after != nil {
				a.after(t, e.outside, target, false)
			}
		})
	}
}

// refused is what is expected of an attempt in a cage.
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
	// The kernel ends what has no process of its own to refuse it to, without a word.
	killed := a.wall == noMemory && strings.Contains(got.stderr, "exit code 137")
	for _, want := range []string{"the function failed", "Escape " + a.name, a.wall, a.said} {
		if !strings.Contains(got.stderr, want) && !(killed && want == a.wall) {
			t.Errorf("no word of %q in: %s", want, got.stderr)
		}
	}
}

// control makes the attempts where nothing confines them: they succeed, or else what the
// cages refuse tells nothing.
func (e escaping) control(t *testing.T) {
	for i := range e.attempts() {
		a := e.attempts()[i] // the victim is another after it was killed
		t.Run(a.name, func(t *testing.T) {
			switch {
			case a.unfree != "":
				t.Skip("NOT TESTED without a sandbox: " + a.unfree)
			case a.asUser && os.Geteuid() != 0 || os.Geteuid() != 0 && !a.heavy:
				enginetest.Missing(t, "the control is for root to make")
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

// interrupted is krmcat's exit code where a signal told it to end.
const interrupted = 130

// ending is how a render went.
type ending struct {
	code           int // below 0 where a signal ended it
	stdout, stderr string
	target         string
}

// target makes a directory whose only function is an attempt.
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

// renderTimeout is far more than any render takes.
const renderTimeout = time.Minute

// renderIn renders a target with the attempt in it.
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
	if !e.image { // the program lies outside of the target
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

// cache is where krmcat keeps what it fetched.
func (e escaping) cache() string {
	if e.asUser {
		return e.place("cache-54322")
	}
	return e.place("cache-0")
}

// environ is krmcat's environment: a user's, who has secrets in many places.
func (e escaping) environ() []string {
	return append(slices.Clone(e.env), "HOME="+e.place("home"), "DOCKER_CONFIG="+e.place("docker"), "KUBECONFIG="+e.place("kube/config"),
		"SSH_AUTH_SOCK="+e.place("home/agent.sock"), "KRMCAT_CACHE_DIR="+e.cache(), "SECRET="+secretText, "GOCOVERDIR="+e.temp)
}

// leftBehind looks for processes that a function left, and ends them.
func leftBehind(t *testing.T, target string, free bool) {
	end := time.Now().Add(5 * time.Second)
	left := lingering(target)
	for ; !free && left != nil && time.Now().Before(end); left = lingering(target) {
		time.Sleep(10 * time.Millisecond) // those that were killed are still to go
	}
	for _, pid := range left {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	switch {
	case free && left == nil:
		t.Error("it left nobody behind")
	case !free && left != nil:
		t.Errorf("it left %d processes behind", len(left))
	}
	if _, err := os.Stat(filepath.Join(target, "still-here")); err == nil {
		t.Error("somebody it left behind wrote a file")
	}
}
