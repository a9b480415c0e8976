package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/internal/shim"
)

// bundle is a directory with what an OCI runtime reads and writes for one run. Its lock
// is held for as long as it is used. One whose lock is free was left behind by a process
// that was killed: a later one removes it, and what else bears its name.
type bundle struct {
	way  Way
	dir  string
	lock *os.File
}

// The files in a bundle. config.json and rootfs are the runtime's names.
const (
	bundleConfig = "config.json"
	bundleRoot   = "rootfs"
	bundleState  = "state" // of the runtime
	bundleLog    = "log"   // of the runtime
	bundlePid    = "pid"   // written by the runtime when the job is made
	bundleShim   = "shim"  // why the runtime was not started
	bundleEmpty  = "empty" // what opEmpty shows
	bundleLock   = "lock"
)

// bundlePrefix is what the names of bundles, containers and cgroups start with.
const bundlePrefix = "krmcat-oci-"

// staleAfter is how old a bundle without a lock must be before it is taken for left
// behind: between a directory and its lock is a moment.
const staleAfter = time.Minute

func newBundle(way Way, temp string) (_ *bundle, err error) {
	dir, err := os.MkdirTemp(temp, bundlePrefix)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(dir)
		}
	}()
	lock, err := os.OpenFile(filepath.Join(dir, bundleLock), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(os.NewSyscallError("flock", err), lock.Close())
	}
	b := &bundle{way: way, dir: dir, lock: lock}
	if err := os.Mkdir(b.file(bundleRoot), 0o755); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if err := os.WriteFile(b.file(bundleEmpty), nil, 0o444); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return b, nil
}

func (b *bundle) file(name string) string { return filepath.Join(b.dir, name) }

// id is the name of the container and of its cgroup.
func (b *bundle) id() string { return filepath.Base(b.dir) }

// remove removes all that bears the bundle's name. Nothing of it runs any more. Where the
// kernel has not yet noticed, the bundle stays, and is removed as one left behind.
func (b *bundle) remove() error {
	for try := 1; !b.ungroup(); try++ {
		if try == shim.BusyTries {
			return b.lock.Close()
		}
		<-time.After(shim.BusyPause)
	}
	return errors.Join(os.RemoveAll(b.dir), b.lock.Close())
}

// ungroup removes the container's control groups, which the runtime did already unless it
// was killed. It returns whether none is in use.
func (b *bundle) ungroup() bool {
	free := true
	for _, dir := range cgroupParents() {
		if err := os.Remove(filepath.Join(dir, b.id())); errors.Is(err, syscall.EBUSY) {
			free = false
		}
	}
	return free
}

// sweep removes what processes of this user's that were killed left behind.
func sweep(temp string) {
	left, _ := filepath.Glob(filepath.Join(temp, bundlePrefix+"*"))
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		lock, err := os.OpenFile(filepath.Join(dir, bundleLock), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			continue
		}
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			_ = lock.Close()
			continue
		}
		_ = (&bundle{dir: dir, lock: lock}).remove()
	}
}

func (b *bundle) write(s ociSpec) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(b.file(bundleConfig), data, 0o600)
}

// show writes a view into a spec, and makes in the root file system what a runtime does
// not make itself. The root file system is read-only once it is shown, so that directories
// and links are simply put there.
func (b *bundle) show(s *ociSpec, view []op) error {
	root, err := os.OpenRoot(b.file(bundleRoot))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if view, err = spread(view); err != nil {
		return err
	}
	for i, o := range view {
		over := mountAbove(view[:i], o.dst)
		if over == nil {
			err = b.make(root, o)
		} else {
			err = possible(o, *over, view[i+1:])
		}
		if err == nil {
			err = b.mount(s, o, over != nil, view[i+1:])
		}
		if err != nil {
			return fmt.Errorf("making %s: %w", o.dst, err)
		}
	}
	return b.open(root)
}

// open has others look into what the umask of this process has closed to them.
func (b *bundle) open(root *os.Root) error {
	if ownUmask()&0o055 == 0 {
		return nil
	}
	return errors.Join(os.Chmod(b.file(bundleEmpty), 0o444), fs.WalkDir(root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return root.Chmod(p, info.Mode()|0o755)
	}))
}

// mountAbove is the last op that mounts something in which p lies; nil where p is in the
// bare root file system.
func mountAbove(done []op, p string) *op {
	for i := len(done) - 1; i >= 0; i-- {
		if o := done[i]; o.dst != p && within(p, o.dst) && o.mounts() {
			return &o
		}
	}
	return nil
}

// mounts tells whether an op is a mount to a runtime. A file system in memory that nobody
// can write to is a directory of the root file system, which nobody can write to either.
func (o op) mounts() bool {
	switch o.kind {
	case opDir, opSymlink:
		return false
	case opTmpfs:
		return o.write
	default:
		return true
	}
}

// make prepares a place in the root file system.
func (b *bundle) make(root *os.Root, o op) error {
	name := strings.TrimPrefix(o.dst, "/")
	if name == "" {
		return errors.New("only a part of this machine can stand in place of the root")
	}
	if above := path.Dir(name); above != "." {
		if err := root.MkdirAll(above, 0o755); err != nil {
			return err
		}
	}
	if o.kind == opSymlink {
		return root.Symlink(o.src, name)
	}
	file := o.kind == opEmpty
	if o.kind == opBind {
		info, err := os.Stat(o.src)
		if err != nil {
			return err
		}
		file = !info.IsDir()
	}
	if !file {
		if err := root.MkdirAll(name, 0o755); err != nil || o.kind != opTmpfs || !o.write {
			return err
		}
		// runc gives a file system in memory the mode of what it covers.
		return root.Chmod(name, os.ModeSticky|0o777)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// possible tells whether an op can be done inside of what another op mounts, where only a
// runtime can make something: the places that it mounts on.
func possible(o, over op, later []op) error {
	switch {
	case o.mounts() || o.kind == opTmpfs:
		return nil
	case o.kind == opSymlink:
		return errors.New("no link can be made inside of " + over.dst)
	}
	if onTheWay(o, later) {
		return nil
	}
	if over.kind == opBind { // it is there or it cannot be made
		info, err := os.Stat(filepath.Join(over.src, strings.TrimPrefix(o.dst, over.dst)))
		if err == nil && info.IsDir() {
			return nil
		}
		return errors.New("no directory can be made inside of " + over.dst)
	}
	return nil
}

// onTheWay tells whether a directory is made by a runtime on its way to a place below it.
func onTheWay(o op, later []op) bool {
	for _, l := range later {
		if l.mounts() && within(l.dst, o.dst) {
			return true
		}
	}
	return false
}

// mount adds the mounts of an op. nested says that it is inside of another one, where a
// directory has to be a file system in memory: made read-only at the very end, by being
// listed, since places in it may yet have to be made.
func (b *bundle) mount(s *ociSpec, o op, nested bool, later []op) error {
	switch o.kind {
	case opSymlink: // made
	case opProc:
		s.procMounts(o.dst)
	case opDev:
		s.devMounts(o.dst, o.size)
	case opTmpfs:
		if o.write {
			who := s.Process.User
			s.Mounts = append(s.Mounts, tmpfs(o.dst, o.size, "mode=1777", fmt.Sprintf("uid=%d", who.UID), fmt.Sprintf("gid=%d", who.GID)))
		} else if nested {
			s.Mounts = append(s.Mounts, tmpfs(o.dst, emptySize, "mode=755"))
			s.Linux.ReadonlyPaths = append(s.Linux.ReadonlyPaths, o.dst)
		}
	case opBind:
		return b.bind(s, o, later)
	case opEmpty:
		return b.bindOne(s, op{kind: opBind, src: b.file(bundleEmpty), dst: o.dst})
	case opDir:
		if nested && !onTheWay(o, later) {
			s.Mounts = append(s.Mounts, tmpfs(o.dst, inode, "mode=755"))
			s.Linux.ReadonlyPaths = append(s.Linux.ReadonlyPaths, o.dst)
		}
	}
	return nil
}
