package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/krmcat/krmcat/internal/enginetest"
)

// ociBench is what a test of an OCI engine works with.
type ociBench struct {
	*testing.T
	way     Way
	engine  engine
	temp    string // where bundles are made
	busybox string // an image's root: /bin/busybox and links to it
	made    *madeIDs
}

// madeIDs are the names of the containers that a test made: others may run some too.
type madeIDs struct {
	engine

	mu  sync.Mutex
	ids []string
}

func (m *madeIDs) prepare(ctx context.Context, j job) (*prepared, error) {
	p, err := m.engine.prepare(ctx, j)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.ids = append(m.ids, filepath.Base(p.cmd.Dir))
	}
	return p, err
}

// ociJob is a shell script in an image of busybox.
func (b ociBench) ociJob(script string) job {
	return job{
		path: "/bin/sh", args: []string{"-c", script}, dir: "/", env: []string{"PATH=/bin"},
		uid: nobody, gid: nobody, limits: Limits{}.OrDefault(),
		view: []op{
			{kind: opBind, src: filepath.Join(b.busybox, "bin"), dst: "/bin"},
			{kind: opDir, dst: "/sys"}, {kind: opProc, dst: "/proc"}, {kind: opDev, dst: "/dev", size: 1 << 20},
			{kind: opTmpfs, dst: "/tmp", write: true, size: 1 << 20},
		},
	}
}

// run runs a job as runOn does, with a stdin.
func (b ociBench) run(j job, in string) (out, notes string, err error) {
	b.Helper()
	p, err := b.engine.prepare(b.Context(), j)
	if err != nil {
		return "", "", err
	}
	var stdout, stderr bytes.Buffer
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = strings.NewReader(in), &stdout, &stderr
	_, err = startAndWait(p.cmd)
	return stdout.String(), stderr.String(), p.settle(err)
}

// says has a job print something, and nothing else.
func (b ociBench) says(j job, want string) {
	b.Helper()
	out, notes, err := b.run(j, "")
	if err != nil || strings.TrimSpace(out) != want || notes != "" {
		b.Errorf("%q, %q, %v; want %q", out, notes, err, want)
	}
}

// clean fails where something of a run is left.
func (b ociBench) clean() {
	b.Helper()
	if left, _ := filepath.Glob(filepath.Join(b.temp, bundlePrefix+"*")); len(left) > 0 {
		b.Errorf("left behind: %s", left)
	}
	for _, id := range b.made.ids {
		for _, dir := range cgroupParents() {
			if _, err := os.Stat(filepath.Join(dir, id)); err == nil {
				b.Errorf("left behind: %s in %s", id, dir)
			}
		}
	}
}

// TestOCI runs all there is on each engine, as whoever runs it. TestOCIAsUser runs it, and
// TestOtherUser, again as another.
func TestOCI(t *testing.T) {
	for _, way := range []Way{Runc, Crun} {
		t.Run(string(way), func(t *testing.T) {
			program := needs(t, string(way))
			busybox := needs(t, "busybox")
			root := filepath.Join(t.TempDir(), "root")
			if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			box, err := os.ReadFile(busybox)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "bin/busybox"), box, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, name := range strings.Fields("sh cat echo id pwd env grep ls mkdir touch dd sleep wget nc kill mount unshare hostname ip true head awk tr") {
				if err := os.Symlink("busybox", filepath.Join(root, "bin", name)); err != nil {
					t.Fatal(err)
				}
			}
			self := enginetest.Self(t)
			for name, test := range ociTests() {
				t.Run(name, func(t *testing.T) {
					temp := t.TempDir()
					e := newOCI(way, program, NewHost(HostOptions{Self: self, Environ: []string{"TMPDIR=" + temp}}).options)
					made := &madeIDs{engine: e}
					b := ociBench{t, way, made, temp, root, made}
					test(b)
					b.clean()
				})
			}
		})
	}
}

func ociTests() map[string]func(ociBench) {
	return map[string]func(ociBench){
		"streams": ociStreams, "environment": ociEnvironment, "who": ociWho, "network": ociNetwork,
		"files": ociFiles, "view": ociView, "nested": ociNested, "submounts": ociSubmounts,
		"limits": ociLimits, "denied": ociDenied, "refused": ociRefused, "kill": ociKill, "killed": ociKilled, "try": ociTry, "null": ociNull, "whole": ociWhole, "others": ociOthers, "parallel": ociParallel, "host": ociHost,
	}
}

// TestOCIAsUser runs TestOCI as somebody who is not root.
func TestOCIAsUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: only root can become another user, and TestOCI has run as one that is not root")
	}
	dir, err := os.MkdirTemp("/tmp", "oci-as-user") //nolint:usetesting // another user has to reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	copied, self := filepath.Join(dir, "sandbox.test"), filepath.Join(dir, "self")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(dir+"/tmp", 0o755), os.Chown(dir+"/tmp", 54321, 54321)); err != nil {
		t.Fatal(err)
	}
	for to, from := range map[string]string{copied: os.Args[0], self: enginetest.Self(t)} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), copied, "-test.run=^(TestOCI|TestOtherUser)$", "-test.v")
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "CI=" + os.Getenv("CI"), "TMPDIR=" + dir + "/tmp", "HOME=/", enginetest.SelfEnv(self)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
}

func ociStreams(b ociBench) {
	out, notes, err := b.run(b.ociJob("cat; echo to stderr >&2; exit 7"), "hello")
	if code, ok := ExitCode(err); !ok || code != 7 || out != "hello" || notes != "to stderr\n" {
		b.Errorf("%q, %q, %v", out, notes, err)
	}
	for _, code := range []int{1, 2, 126, 127, 255, 137} { // also what the runtimes use themselves
		_, _, err := b.run(b.ociJob("exit "+strconv.Itoa(code)), "")
		if got, ok := ExitCode(err); !ok || got != code {
			b.Errorf("%v, want %d", err, code)
		}
	}
	// More than a pipe holds, both ways, and one that does not read.
	big := strings.Repeat("0123456789abcdef", 1<<16)
	if out, _, err := b.run(b.ociJob("cat"), big); err != nil || out != big {
		b.Errorf("%d bytes, %v", len(out), err)
	}
	if out, _, err := b.run(b.ociJob("echo done"), big); err != nil || out != "done\n" {
		b.Errorf("%q, %v", out, err)
	}
}

func ociEnvironment(b ociBench) {
	j := b.ociJob("env; pwd; hostname")
	j.env = []string{"PATH=/bin", "A=b=c", "B=x\ny"}
	j.dir = "/tmp"
	out, _, err := b.run(j, "")
	if err != nil {
		b.Fatal(err)
	}
	for _, want := range []string{"A=b=c\n", "B=x\ny\n", "\n/tmp\n", "\nkrmcat\n"} {
		if !strings.Contains(out, want) {
			b.Errorf("%q is not in %q", want, out)
		}
	}
	if strings.Contains(out, "TMPDIR") || strings.Contains(out, "usr/local/sbin") {
		b.Errorf("the engine's own environment is seen: %q", out)
	}
}

func ociWho(b ociBench) {
	want := "0:0"
	if os.Geteuid() == 0 {
		want = "65534:65534"
	}
	b.says(b.ociJob("echo $(id -u):$(id -g)"), want)
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		b.says(b.ociJob("grep "+set+" /proc/self/status | tr -d '\\t '"), set+":0000000000000000")
	}
	b.says(b.ociJob("grep -E 'NoNewPrivs|^Seccomp:' /proc/self/status | awk '{print $2}' | tr -d '\\n'"), "12")
	// It is alone.
	b.says(b.ociJob("set -- /proc/[0-9]*; echo $#"), "1")
	if os.Geteuid() != 0 {
		return
	}
	// What it looks like from outside.
	p, err := b.engine.prepare(b.Context(), b.ociJob("echo; cat"))
	if err != nil {
		b.Fatal(err)
	}
	in, err := p.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		b.Fatal(p.settle(err))
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		b.Error(err)
	}
	uids := map[string]bool{}
	for _, pid := range descendants(b.T, p.cmd.Process.Pid) {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if m := regexp.MustCompile(`(?m)^Uid:\t(\d+)`).FindSubmatch(status); m != nil {
			uids[string(m[1])] = true
		}
	}
	if !uids["65534"] {
		b.Errorf("no process of nobody's: %v", uids)
	}
	_ = in.Close()
	if err := p.settle(p.cmd.Wait()); err != nil {
		b.Error(err)
	}
}

// descendants lists a process and all below it.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	all := []int{pid}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for _, s := range strings.Fields(string(data)) {
			if child, err := strconv.Atoi(s); err == nil {
				all = append(all, descendants(t, child)...)
			}
		}
	}
	return all
}

func ociKill(b ociBench) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	// Children of all kinds, and one that is of no group, session or parent of ours.
	j := b.ociJob("trap '' TERM INT HUP; busybox setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000 & echo; cat; sleep 1000")
	p, err := b.engine.prepare(ctx, j)
	if err != nil {
		b.Fatal(err)
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	p.cmd.Stdout = theirs
	if err := p.cmd.Start(); err != nil {
		b.Fatal(p.settle(err))
	}
	_ = theirs.Close()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		b.Error(err)
	}
	pids := descendants(b.T, p.cmd.Process.Pid)
	cancel()
	err = p.settle(p.cmd.Wait())
	var failed *EngineError
	if err == nil || errors.As(err, &failed) {
		b.Errorf("killed, and %v", err)
	}
	if len(pids) < 3 {
		b.Errorf("there were only processes %v", pids)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, 0); err == nil {
			b.Errorf("process %d is still there", pid)
		}
	}
	// All that could hold a pipe open is gone.
	done := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, out); done <- err }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		b.Error("something holds stdout open")
	}
}
