package bridge

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
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/leave"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/internal/step"
)

// The one kind that kustomize finds a plugin for. Its config names a run of Steps; the
// plugin is krmcat itself, called back, which finds the render it belongs to by the
// place it was started from.
const (
	stepKind       = "Step"
	stepAPIVersion = "krmcat.dev/v1alpha1"
)

// stepPath is where kustomize looks for the plugin below its home.
func stepPath() string { return filepath.FromSlash(step.Path) }

// stepNames are the names of the configs of runs, by number.
const stepNames = "step-%d"

// Run is the number of a run of Steps.
type Run int

// StepConfig is the config of run r, on one line, as kustomize reads it.
func StepConfig(r Run) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q},"run":%d}`+"\n", stepAPIVersion, stepKind, fmt.Sprintf(stepNames, r), r)
}

// RunOf tells the run of a config that StepConfig made, by what kustomize records of it.
func RunOf(id yaml.ResourceIdentifier) (run Run, ok bool) {
	if id.APIVersion != stepAPIVersion || id.Kind != stepKind {
		return 0, false
	}
	_, err := fmt.Sscanf(id.Name, stepNames, &run)
	return run, err == nil
}

// bridge listens for Steps while kustomize runs.
type bridge struct {
	home     string
	remove   func() // removes home
	listener net.Listener
	serve    Serve

	mu    sync.Mutex
	first error // the first error of a Step: kustomize shows only that there was one
	open  map[net.Conn]struct{}
	helms map[int]struct{} // process groups of helm's that live
	wg    sync.WaitGroup
	done  chan struct{} // closed when nobody is accepted any more

	closed bool
}

// maxSocket is the longest path that every system takes for a socket.
const maxSocket = 100

// openBridge makes a private home with the plugin in it, and listens.
func openBridge(ctx context.Context, o Build) (*bridge, error) {
	dir, err := makeHome(o.TempDir)
	if err != nil {
		return nil, err
	}
	b := &bridge{home: dir.Path, remove: leave.Of(ctx).Tidy(dir.Remove), serve: o.Serve, open: map[net.Conn]struct{}{}, helms: map[int]struct{}{}, done: make(chan struct{})}
	if err := errors.Join(b.install(o.Executable), b.installHelm(o)); err != nil {
		b.remove()
		return nil, err
	}
	b.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(b.home, step.Socket))
	if err != nil {
		b.remove()
		return nil, fmt.Errorf("listening for steps: %w", err)
	}
	return b, nil
}

// makeHome makes the directory of a bridge: where nothing else will do in /tmp, since it
// holds a socket.
func makeHome(temp string) (*scratch.Dir, error) {
	dir, err := scratch.Make(temp)
	if err != nil || len(filepath.Join(dir.Path, step.Socket)) <= maxSocket || runtime.GOOS == "windows" {
		return dir, err
	}
	long := dir.Path
	dir.Remove()
	if dir, err = scratch.Make("/tmp"); err != nil {
		return nil, fmt.Errorf("%s is too long a path for a socket: %w", filepath.Dir(long), err)
	}
	return dir, nil
}

// Usable tells whether there is room for what a build keeps on the disk, where it needs any.
// The error is a *scratch.Error.
func (o Build) Usable() error {
	if !o.Steps && !o.Helm.Enabled {
		return nil
	}
	dir, err := makeHome(o.TempDir)
	if err == nil {
		dir.Remove()
	}
	return err
}

// install puts krmcat where kustomize looks for the plugin.
func (b *bridge) install(executable string) error {
	plugin := filepath.Join(b.home, stepPath())
	if err := os.MkdirAll(filepath.Dir(plugin), 0o700); err != nil {
		return fmt.Errorf("giving kustomize a way back to krmcat: %w", err)
	}
	var err error
	if runtime.GOOS == "windows" {
		err = linkOrCopy(executable, plugin+".exe")
	} else {
		err = os.Symlink(executable, plugin)
	}
	if err != nil {
		return fmt.Errorf("giving kustomize a way back to krmcat: %w", err)
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
			err = fmt.Errorf("a step stopped with an internal error: %v", r)
		}
	}()
	in := bufio.NewReader(conn)
	var run Run
	line, err := in.ReadString('\n')
	if err != nil {
		return fmt.Errorf("reading a step: %w", err)
	}
	if group, helm := strings.CutPrefix(line, step.HelmLine); helm {
		return b.runsHelm(conn, group)
	}
	if err := json.Unmarshal([]byte(line), &run); err != nil {
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
	if _, err := conn.Write(append([]byte(step.Answered), out...)); err != nil {
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

// hangUp ends every conversation, and helm: the plugin then fails, and kustomize with it,
// which cannot be stopped in any other way.
func (b *bridge) hangUp() {
	_ = b.listener.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for group := range b.helms {
		killGroup(group)
	}
	for conn := range b.open {
		_ = conn.Close()
	}
}

// close ends the bridge and removes what it left on the disk.
func (b *bridge) close() {
	b.hangUp()
	<-b.done
	b.wg.Wait()
	b.remove()
}
