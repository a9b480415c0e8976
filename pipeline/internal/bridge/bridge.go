package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/leave"
	"github.com/krmcat/krmcat/internal/scratch"
)

// bridge listens for helm while kustomize runs: kustomize starts krmcat in its place, which becomes
// helm once the bridge knows its process group.
type bridge struct {
	home     string
	remove   func() // removes home
	listener net.Listener

	mu    sync.Mutex
	open  map[net.Conn]struct{}
	helms map[int]struct{} // process groups of helm's that live
	wg    sync.WaitGroup
	done  chan struct{} // closed when nobody is accepted any more

	closed bool
}

// maxSocket is the longest path that every system takes for a socket.
const maxSocket = 100

// openBridge makes a private home with krmcat in it, under the name of helm, and listens.
func openBridge(ctx context.Context, o Build) (*bridge, error) {
	dir, err := makeHome(o.TempDir)
	if err != nil {
		return nil, err
	}
	b := &bridge{home: dir.Path, remove: leave.Of(ctx).Tidy(dir.Remove), open: map[net.Conn]struct{}{}, helms: map[int]struct{}{}, done: make(chan struct{})}
	if err := b.installHelm(o); err != nil {
		b.remove()
		return nil, err
	}
	b.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(b.home, helm.Socket))
	if err != nil {
		b.remove()
		return nil, fmt.Errorf("listening for helm: %w", err)
	}
	return b, nil
}

// makeHome makes the directory of a bridge: where nothing else will do in /tmp, since it
// holds a socket.
func makeHome(temp string) (*scratch.Dir, error) {
	dir, err := scratch.Make(temp)
	if err != nil || len(filepath.Join(dir.Path, helm.Socket)) <= maxSocket || runtime.GOOS == "windows" {
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
	if !o.Helm.Enabled {
		return nil
	}
	dir, err := makeHome(o.TempDir)
	if err == nil {
		dir.Remove()
	}
	return err
}

// listen answers until close, or until ctx ends.
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
			_ = b.answer(conn) // helm fails, and kustomize says so
			b.mu.Lock()
			delete(b.open, conn)
			b.mu.Unlock()
			_ = conn.Close()
		})
	}
}

func (b *bridge) answer(conn net.Conn) error {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("reading what helm says: %w", err)
	}
	group, ok := strings.CutPrefix(line, helm.Line)
	if !ok {
		return fmt.Errorf("helm says %q: %w", line, errNotHelm)
	}
	return b.runsHelm(conn, group)
}

var errNotHelm = errors.New("that is no process group")

// hangUp ends every conversation, and helm: kustomize then fails, which cannot be stopped in any
// other way.
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
