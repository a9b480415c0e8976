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

// bridge listens for helm while kustomize runs. kustomize starts krmcat in place of helm, and that
// process becomes helm once the bridge knows its process group.
type bridge struct {
	home     string
	remove   func() // removes home
	listener net.Listener

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	groups map[int]struct{} // the process groups of helm that have not ended
	wg     sync.WaitGroup
	done   chan struct{} // closed when no more connections are accepted

	closed bool
}

// maxSocket is the longest path of a socket that every operating system accepts.
const maxSocket = 100

// openBridge creates a private directory that contains krmcat under the name of helm, and listens
// on a socket in it.
func openBridge(ctx context.Context, o Build) (*bridge, error) {
	dir, err := makeHome(o.TempDir)
	if err != nil {
		return nil, err
	}
	b := &bridge{home: dir.Path, remove: leave.Of(ctx).Tidy(dir.Remove), open: map[net.Conn]struct{}{}, groups: map[int]struct{}{}, done: make(chan struct{})}
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

// makeHome creates the directory of a bridge. It uses /tmp if the path of the socket would be too
// long in the directory for temporary files.
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

// Usable checks that a build can create the temporary files that it needs. A build without helm
// needs none. The error is a *scratch.Error.
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

// listen accepts connections until close, or until ctx ends.
func (b *bridge) listen(ctx context.Context) {
	defer close(b.done)
	unregister := context.AfterFunc(ctx, b.stop)
	defer unregister()
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
			_ = b.handle(conn) // on an error helm fails, and kustomize reports that
			b.mu.Lock()
			delete(b.open, conn)
			b.mu.Unlock()
			_ = conn.Close()
		})
	}
}

// handle serves one connection: the process that becomes helm sends its process group.
func (b *bridge) handle(conn net.Conn) error {
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return fmt.Errorf("reading the process group of helm: %w", err)
	}
	group, ok := strings.CutPrefix(line, helm.Line)
	if !ok {
		return fmt.Errorf("helm sent %q: %w", line, errNotHelm)
	}
	return b.waitForHelm(conn, group)
}

var errNotHelm = errors.New("this is not a process group")

// stop closes every connection and kills helm. kustomize then fails: there is no other way to stop
// it.
func (b *bridge) stop() {
	_ = b.listener.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for group := range b.groups {
		killGroup(group)
	}
	for conn := range b.open {
		_ = conn.Close()
	}
}

// close stops the bridge and removes its directory.
func (b *bridge) close() {
	b.stop()
	<-b.done
	b.wg.Wait()
	b.remove()
}
