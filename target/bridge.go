package target

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
)

// The one kind that kustomize finds a plugin for. Its config names a run of Steps; the
// plugin is krmcat itself, called back, which finds the render it belongs to by the
// place it was started from.
const (
	stepGroup      = "krmcat.dev"
	stepVersion    = "v1alpha1"
	stepKind       = "Step"
	stepAPIVersion = stepGroup + "/" + stepVersion
	socketName     = "s"
)

// stepPath is where kustomize looks for the plugin below its home.
func stepPath() string {
	return filepath.Join(stepGroup, stepVersion, strings.ToLower(stepKind), stepKind)
}

// stepNames are the names of the configs of runs, by number.
const stepNames = "step-%d"

// stepConfig is the config of run r, on one line, as kustomize reads it.
func stepConfig(r int) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"run":%d}`+"\n", stepAPIVersion, stepKind, fmt.Sprintf(stepNames, r), r)
}

// IsStep tells whether this process was started as a Step: by the name it was called
// under, before anything else is looked at.
func IsStep(args []string) bool {
	return len(args) > 0 && strings.HasSuffix(strings.TrimSuffix(filepath.ToSlash(args[0]), ".exe"), filepath.ToSlash(stepPath()))
}

// RunStep is the whole of a process that kustomize started for a Step: it hands the
// resources on its stdin to the render that listens, and prints the answer. The caller
// ignores interrupts: the render decides when to stop.
func RunStep(args []string, stdin io.Reader, stdout io.Writer) (err error) {
	if len(args) < 2 {
		return errors.New("a step needs its config")
	}
	defer func() {
		if err != nil {
			_ = os.Remove(args[1]) // kustomize removes it only where all is well
		}
	}()
	config, err := os.ReadFile(args[1])
	if err != nil {
		return fmt.Errorf("reading the step: %w", err)
	}
	run, err := runOf(string(config))
	if err != nil {
		return err
	}
	home := args[0]
	for range strings.Count(filepath.ToSlash(stepPath()), "/") + 1 {
		home = filepath.Dir(home)
	}
	conn, err := (&net.Dialer{}).DialContext(context.Background(), "unix", filepath.Join(home, socketName))
	if err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	defer func() { _ = conn.Close() }()
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("calling the render: a socket was expected, this is a %T", conn)
	}
	return exchange(socket, run, stdin, stdout)
}

// runOf finds the number of the run in a config. kustomize prints what we wrote: one field
// of that name, on a line of its own. A Step starts without a YAML parser.
func runOf(config string) (int, error) {
	for line := range strings.Lines(config) {
		if n, ok := strings.CutPrefix(line, "run: "); ok {
			run, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				return 0, fmt.Errorf("reading the step: %w", err)
			}
			return run, nil
		}
	}
	return 0, errors.New("the step names no run")
}

// exchange sends one request and copies the answer: a line with the run, the resources;
// back come a line that is "ok" and the new resources.
func exchange(conn *net.UnixConn, run int, stdin io.Reader, stdout io.Writer) error {
	if _, err := fmt.Fprintf(conn, "%d\n", run); err != nil {
		return fmt.Errorf("calling the render: %w", err)
	}
	if _, err := io.Copy(conn, stdin); err != nil {
		return fmt.Errorf("handing over the resources: %w", err)
	}
	if err := conn.CloseWrite(); err != nil {
		return fmt.Errorf("handing over the resources: %w", err)
	}
	answer := bufio.NewReader(conn)
	if status, err := answer.ReadString('\n'); err != nil || status != "ok\n" {
		return errors.New("the step was refused")
	}
	if _, err := io.Copy(stdout, answer); err != nil {
		return fmt.Errorf("printing the answer: %w", err)
	}
	return nil
}

// bridge listens for Steps while kustomize runs.
type bridge struct {
	home     string
	listener net.Listener
	serve    serveFunc

	mu    sync.Mutex
	first error // the first error of a Step: kustomize shows only that there was one
	open  map[net.Conn]struct{}
	wg    sync.WaitGroup
	done  chan struct{} // closed when nobody is accepted any more

	closed bool
}

// maxSocket is the longest path that every system takes for a socket.
const maxSocket = 100

// openBridge makes a private home with the plugin in it, and listens.
func openBridge(ctx context.Context, o Options, serve serveFunc) (*bridge, error) {
	home, err := os.MkdirTemp(o.TempDir, "krmcat-")
	if err == nil && len(filepath.Join(home, socketName)) > maxSocket && runtime.GOOS != "windows" {
		_ = os.RemoveAll(home)
		home, err = os.MkdirTemp("/tmp", "krmcat-")
	}
	if err != nil {
		return nil, fmt.Errorf("making a directory for the step bridge: %w", err)
	}
	b := &bridge{home: home, serve: serve, open: map[net.Conn]struct{}{}, done: make(chan struct{})}
	if err := b.install(o.Executable); err != nil {
		_ = os.RemoveAll(home)
		return nil, err
	}
	b.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(home, socketName))
	if err != nil {
		_ = os.RemoveAll(home)
		return nil, fmt.Errorf("listening for steps: %w", err)
	}
	return b, nil
}

// install puts krmcat where kustomize looks for the plugin.
func (b *bridge) install(executable string) error {
	plugin := filepath.Join(b.home, stepPath())
	if err := os.MkdirAll(filepath.Dir(plugin), 0o700); err != nil {
		return fmt.Errorf("making the step bridge: %w", err)
	}
	var err error
	if runtime.GOOS == "windows" {
		err = linkOrCopy(executable, plugin+".exe")
	} else {
		err = os.Symlink(executable, plugin)
	}
	if err != nil {
		return fmt.Errorf("making the step bridge: %w", err)
	}
	return nil
}

// linkOrCopy is for systems where a symbolic link needs a privilege.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

// listen answers Steps until close, or until ctx ends.
func (b *bridge) listen(ctx context.Context) {
	defer close(b.done)
	stop := context.AfterFunc(ctx, b.hangUp)
	defer stop()
	for {
		conn, err := b.listener.Accept()
		if err != nil {
			return
		}
		b.mu.Lock()
		if b.closed {
			b.mu.Unlock()
			_ = conn.Close()
			return
		}
		b.open[conn] = struct{}{}
		b.mu.Unlock()
		b.wg.Go(func() {
			if err := b.answer(ctx, conn); err != nil {
				b.record(err)
			}
			b.mu.Lock()
			delete(b.open, conn)
			b.mu.Unlock()
			_ = conn.Close()
		})
	}
}

func (b *bridge) answer(ctx context.Context, conn net.Conn) (err error) {
	defer func() {
		// kyaml panics on some resources, and nobody above this goroutine could stop that.
		if r := recover(); r != nil {
			err = fmt.Errorf("a step gave up: %v", r)
		}
	}()
	in := bufio.NewReader(conn)
	var run int
	if line, err := in.ReadString('\n'); err != nil {
		return fmt.Errorf("reading a step: %w", err)
	} else if err := json.Unmarshal([]byte(line), &run); err != nil {
		return fmt.Errorf("reading a step: %w", err)
	}
	items, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("reading the resources of a step: %w", err)
	}
	out, err := b.serve(ctx, run, items)
	if err != nil {
		return err
	}
	if _, err := conn.Write(append([]byte("ok\n"), out...)); err != nil {
		return fmt.Errorf("answering a step: %w", err)
	}
	return nil
}

func (b *bridge) record(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.first == nil {
		b.first = err
	}
}

// err is the first error of a Step.
func (b *bridge) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.first
}

// hangUp ends every conversation: the plugin then fails, and kustomize with it, which
// cannot be stopped in any other way.
func (b *bridge) hangUp() {
	_ = b.listener.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for conn := range b.open {
		_ = conn.Close()
	}
}

// close ends the bridge and removes what it left on the disk.
func (b *bridge) close() {
	b.hangUp()
	<-b.done
	b.wg.Wait()
	_ = os.RemoveAll(b.home)
}
