package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/sandbox"
)

// asFunction is the first argument with which this test binary runs as a function.
const asFunction = "as-a-function"

func TestMain(m *testing.M) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	if os.Args[0] == asPart {
		bePart()
	}
	if len(os.Args) == 3 && os.Args[1] == asFunction {
		os.Exit(function(os.Args[2]))
	}
	os.Exit(m.Run())
}

func function(what string) int {
	what, address, _ := strings.Cut(what, "=")
	switch what {
	case "environment":
		_, _ = io.WriteString(os.Stdout, strings.Join(os.Environ(), "\n"))
	case "directory":
		dir, _ := os.Getwd()
		_, _ = io.WriteString(os.Stdout, dir)
	case "seven":
		return 7
	case "leave":
		return leave(address, os.Stdout)
	case "leave-quiet":
		return leave(address, nil)
	case "connect":
		return connect(address)
	case "run":
		return run(address)
	case "hang":
		forever()
	}
	return 0
}

// leave starts a child that outlives this process, and ends when the child has connected.
func leave(address string, stdout *os.File) int {
	r, w, err := os.Pipe()
	if err != nil {
		return 1
	}
	_, err = os.StartProcess(os.Args[0], []string{os.Args[0], asFunction, "connect=" + address},
		&os.ProcAttr{Files: []*os.File{nil, stdout, w}})
	if err != nil {
		return 1
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		return 1
	}
	return 0
}

// connect holds a connection as long as the process lives, or the test.
func connect(address string) int {
	var d net.Dialer
	c, err := d.DialContext(context.Background(), "tcp", address)
	if err != nil {
		return 1
	}
	defer func() { _ = c.Close() }()
	_, _ = os.Stderr.WriteString(".")
	_ = os.Stderr.Close()
	_, _ = c.Read(make([]byte, 1))
	return 0
}

// run is a process that runs a function, which connects.
func run(address string) int {
	g, err := sandbox.Allow{}.Grant(sandbox.Request{HostExec: true})
	if err != nil {
		return 1
	}
	c := sandbox.Cmd{Path: os.Args[0], Args: []string{asFunction, "connect=" + address}, Dir: os.TempDir()}
	if err := g.Run(context.Background(), c, sandbox.Streams{}); err != nil {
		return 1
	}
	return 0
}

// forever never returns. The Go runtime would report a deadlock for an empty select.
func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

func grant(t *testing.T, a sandbox.Allow, r sandbox.Request) sandbox.Grant {
	t.Helper()
	g, err := a.Grant(r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func self(t *testing.T, what string) sandbox.Cmd {
	t.Helper()
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return sandbox.Cmd{Path: p, Args: []string{asFunction, what}, Dir: t.TempDir()}
}

func TestGrantListsEveryRefusal(t *testing.T) {
	t.Parallel()
	target, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"in/dir", "in/my dir", "a,b"} {
		if err := os.MkdirAll(filepath.Join(target, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(os.TempDir(), filepath.Join(target, "out")); err != nil {
		t.Fatal(err)
	}
	tmp, err := filepath.EvalSymlinks(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	_, err = sandbox.Allow{Target: target}.Grant(sandbox.Request{
		Network:      true,
		StorageMount: true,
		Mounts: []sandbox.Mount{
			{Src: "in/dir", Dst: "/a"},
			{Src: "..", Dst: "/b"},
			{Src: tmp, Dst: "/c"},
			{Src: "in/dir", Dst: "/f", RW: true},
			{Src: "in/my dir", Dst: "/g", RW: true},
			{Src: "a,b", Dst: "/h", RW: true},
			{Src: "out", Dst: "/i"},
			{Src: "missing", Dst: "/j"},
			{Src: "in/dir", Dst: "/k/../proc/sys"},
			{Src: "in/dir", Dst: "l"},
			{Type: "bund", Src: "in/dir", Dst: "/m"},
			{Type: "volume", Src: "data", Dst: "/d"},
			{Type: "tmpfs", Dst: "/e"},
		},
		Env: []string{"OK=1", "=x", "KUSTOMIZE_PLUGIN_HOME", "krmcat_x=1", "SECRET"},
	})
	var denied *sandbox.DeniedError
	if !errors.As(err, &denied) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, r := range denied.Refusals {
		got = append(got, strings.TrimSuffix(r.Wants+" "+r.Flag+": "+r.Why, ": "))
	}
	inside := " is not inside the target " + target
	want := []string{
		"the network --network", "a storage mount --mount type=bind,src=DIR,dst=/DIR",
		"the mount bind .. at /b, read-only --mount type=bind,src=..,dst=/b --mount-anywhere: " + filepath.Dir(target) + inside,
		"the mount bind " + tmp + " at /c, read-only --mount type=bind,src=" + tmp + ",dst=/c --mount-anywhere: " + tmp + inside,
		"the mount bind in/dir at /f, read-write --mount type=bind,src=in/dir,dst=/f,rw=true",
		"the mount bind in/my dir at /g, read-write --mount 'type=bind,src=in/my dir,dst=/g,rw=true'",
		"the mount bind a,b at /h, read-write ",
		"the mount bind out at /i, read-only --mount type=bind,src=out,dst=/i --mount-anywhere: " + tmp + inside,
		"the mount bind missing at /j, read-only : there is no " + filepath.Join(target, "missing"),
		`the mount bind in/dir at /k/../proc/sys, read-only : dst is "/k/../proc/sys": nothing can be mounted over /proc, /sys and /dev`,
		`the mount bind in/dir at l, read-only : dst is "l": it must be an absolute path in the function`,
		`the mount bund in/dir at /m, read-only : type is bind, volume or tmpfs, not "bund"`,
		"the mount volume data at /d, read-only --mount type=volume,src=data,dst=/d --runtime docker: only docker, podman and nerdctl have volumes",
		`the environment variable "" `, `the environment variable "KUSTOMIZE_PLUGIN_HOME" `, `the environment variable "krmcat_x" `,
		"this machine's environment variable SECRET --env SECRET",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if !strings.Contains(err.Error(), "it wants the network, which needs --network; ") {
		t.Errorf("got %v", err)
	}
}

func TestGrantOfWhatIsAllowed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	a := sandbox.Allow{
		Network:       true,
		Mounts:        []sandbox.Mount{{Src: data + "/", Dst: "/x"}},
		MountAnywhere: true,
		Env:           []string{"A=b=c", "SECRET"},
		Host:          []string{"PATH=/bin", "SECRET=s"},
	}
	g := grant(t, a, sandbox.Request{Network: true, StorageMount: true, HostExec: true, Mounts: []sandbox.Mount{{Src: data, Dst: "/y"}}})
	d := g.Describe()
	want := []string{"network", "mount bind " + data + "/ at /x, read-only", "mount bind " + data + " at /y, read-only", "env A, SECRET", "not confined"}
	if diff := cmp.Diff(want, d.Lines()); diff != "" {
		t.Error(diff)
	}
	// Read-write is more than was granted.
	if _, err := a.Grant(sandbox.Request{Mounts: []sandbox.Mount{{Src: data, Dst: "/y", RW: true}}}); err == nil {
		t.Error("a read-only mount was granted for writing")
	}
	if got := grant(t, sandbox.Allow{}, sandbox.Request{}).Describe().Lines(); len(got) != 1 || got[0] != "nothing" {
		t.Errorf("got %q", got)
	}
	if l := g.Limits(); l.Timeout != sandbox.DefaultTimeout || l.Output != sandbox.DefaultOutput || l.Stderr != sandbox.DefaultStderr {
		t.Errorf("got %+v", l)
	}
}

func TestZeroGrantOpensNothing(t *testing.T) {
	t.Parallel()
	var g sandbox.Grant
	if g.Valid() || g.Environ() != nil || g.Asked() != nil {
		t.Error("a zero grant is worth something")
	}
	if _, err := g.Command(t.Context(), self(t, "seven")); !errors.Is(err, sandbox.ErrNotGranted) {
		t.Errorf("got %v", err)
	}
	// A grant without HostExec starts no process.
	script := grant(t, sandbox.Allow{}, sandbox.Request{})
	if err := script.Run(t.Context(), self(t, "seven"), sandbox.Streams{}); !errors.Is(err, sandbox.ErrNotGranted) {
		t.Errorf("got %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	a := sandbox.Allow{
		Host: []string{"PATH=/bin", "HOME=/home/x", "LANG=C", "SECRET=s", "ASKED=old", "ASKED=a=b", "SAID=secret", "KUSTOMIZE_PLUGIN_HOME=/p", "KRMCAT_TOKEN=t"},
		Env:  []string{"ASKED", "MISSING", "KRMCAT_TOKEN", "SET=x=y z", "SAID=other"},
	}
	var out bytes.Buffer
	c := self(t, "environment")
	c.Env = []string{"OWN=1", "KUSTOMIZE_PLUGIN_HOME=/p"}
	g := grant(t, a, sandbox.Request{HostExec: true, Env: []string{"FN=1", "SET=last", "ASKED", "SAID"}})
	if err := g.Run(t.Context(), c, sandbox.Streams{Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"PATH": "/bin", "HOME": "/home/x", "LANG": "C", "LOG_TO_STDERR": "true", "STRUCTURED_RESULTS": "true",
		"ASKED": "a=b", "SET": "last", "FN": "1", "OWN": "1", "SAID": "other",
	}
	got := map[string]string{}
	for line := range strings.Lines(out.String()) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if strings.EqualFold(k, "SYSTEMROOT") {
			continue // os/exec adds it on Windows
		}
		got[k] = v
	}
	if os.PathSeparator == '\\' {
		want["PATH"] = got["PATH"]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	g := grant(t, sandbox.Allow{}, sandbox.Request{HostExec: true})
	err := g.Run(t.Context(), self(t, "seven"), sandbox.Streams{})
	if code, ok := sandbox.ExitCode(err); !ok || code != 7 {
		t.Errorf("got %v", err)
	}
	if _, ok := sandbox.ExitCode(errors.New("x")); ok {
		t.Error("an error that is none has an exit code")
	}
	var out bytes.Buffer
	c := self(t, "directory")
	if err := g.Run(t.Context(), c, sandbox.Streams{Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	if want, _ := filepath.EvalSymlinks(c.Dir); out.String() != want && out.String() != c.Dir {
		t.Errorf("it ran in %s, not in %s", out.String(), c.Dir)
	}
	c.Dir = "."
	if err := g.Run(t.Context(), c, sandbox.Streams{}); err == nil {
		t.Error("a relative working directory was accepted")
	}
}

func TestBareNames(t *testing.T) {
	t.Parallel()
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, name := filepath.Split(p)
	a := sandbox.Allow{Host: []string{"PATH=." + string(os.PathListSeparator) + dir}}
	g := grant(t, a, sandbox.Request{HostExec: true})
	c := self(t, "seven")
	c.Path = name
	if code, ok := sandbox.ExitCode(g.Run(t.Context(), c, sandbox.Streams{})); !ok || code != 7 {
		t.Error("a bare name is not found in PATH")
	}
	var missing *sandbox.NotFoundError
	none := grant(t, sandbox.Allow{Host: []string{"PATH=."}}, sandbox.Request{HostExec: true})
	if err := none.Run(t.Context(), c, sandbox.Streams{}); !errors.As(err, &missing) {
		t.Errorf("got %v", err)
	}
	c.Path = "./" + name
	if err := g.Run(t.Context(), c, sandbox.Streams{}); err == nil {
		t.Error("a relative path was accepted")
	}
}

// TestLeftBehind checks that no process of a function outlives the call, whether it holds the
// pipes or has closed them.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	for what, want := range map[string]error{"leave": sandbox.ErrLeftBehind, "leave-quiet": nil} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }()
			g := grant(t, sandbox.Allow{}, sandbox.Request{HostExec: true})
			// io.Discard is not a file, so that there is a pipe to hold.
			err = g.Run(t.Context(), self(t, what+"="+l.Addr().String()), sandbox.Streams{Stdout: io.Discard})
			if !errors.Is(err, want) {
				t.Fatalf("got %v, want %v", err, want)
			}
			c, err := l.Accept() // it connected before the function ended
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
				t.Fatal(err)
			}
			var timeout net.Error
			if _, err := c.Read(make([]byte, 1)); errors.As(err, &timeout) && timeout.Timeout() {
				t.Error("what it left behind is still alive")
			}
		})
	}
}

// slow blocks its first write for a while.
type slow struct {
	got   bytes.Buffer
	after <-chan time.Time
}

func (s *slow) Write(b []byte) (int, error) {
	<-s.after
	return s.got.Write(b)
}

// TestSlowWriter checks that no process counts as left behind because output is read later than
// a process may hold it.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	after := make(chan time.Time)
	time.AfterFunc(1200*time.Millisecond, func() { close(after) })
	w := &slow{after: after}
	err := grant(t, sandbox.Allow{}, sandbox.Request{HostExec: true}).Run(t.Context(), self(t, "directory"), sandbox.Streams{Stdout: w})
	if err != nil || w.got.Len() == 0 {
		t.Errorf("got %q, %v", &w.got, err)
	}
}

// patience is how long a killed process may take to end before a test fails.
const patience = 10 * time.Second

func TestCancel(t *testing.T) {
	t.Parallel()
	g := grant(t, sandbox.Allow{}, sandbox.Request{HostExec: true})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := g.Run(ctx, self(t, "hang"), sandbox.Streams{Stdin: strings.NewReader(strings.Repeat("x", 1<<20)), Stdout: io.Discard}); err == nil {
		t.Error("a killed function did not fail")
	}
}
