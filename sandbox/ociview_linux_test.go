package sandbox

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func ociNetwork(b ociBench) {
	l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("reached\n"))
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	j := b.ociJob("nc 127.0.0.1 " + port + " </dev/null")
	if out, _, err := b.run(j, ""); err == nil || strings.Contains(out, "reached") {
		b.Errorf("this machine was reached: %q, %v", out, err)
	}
	b.says(b.ociJob("ip -o link | grep -v -e ' lo:' | grep -c UP; true"), "0")
	j.network = true
	b.says(j, "reached")
}

func ociFiles(b ociBench) {
	for _, place := range []string{"/x", "/bin/x", "/sys/x", "/dev/x", "/proc/x", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger"} {
		b.says(b.ociJob("(echo x > "+place+") 2>/dev/null && echo written || echo no"), "no")
	}
	b.says(b.ociJob("echo x > /tmp/x && cat /tmp/x; echo y > /dev/shm/y && cat /dev/shm/y"), "x\ny")
	// A megabyte it is.
	b.says(b.ociJob("dd if=/dev/zero of=/tmp/x bs=1024 count=900 2>/dev/null && echo ok; dd if=/dev/zero of=/tmp/y bs=1024 count=900 2>/dev/null || echo full"), "ok\nfull")
	b.says(b.ociJob("i=0; while touch /tmp/$i 2>/dev/null; do i=$((i+1)); [ $i = 5000 ] && break; done; [ $i -lt 300 ] && echo bounded"), "bounded")
	b.says(b.ociJob("for d in null zero full random urandom tty; do [ -c /dev/$d ] || echo $d; done; ls -d /dev/fd /dev/stdin /dev/stdout /dev/stderr /dev/ptmx /dev/pts /dev/shm | wc -l | tr -d ' '; head -c 3 /dev/zero | wc -c; echo out > /dev/stdout"), "7\n3\nout")
	b.says(b.ociJob("cat /proc/kcore /proc/keys /proc/timer_list 2>/dev/null | head -c 10"), "")
	b.says(b.ociJob("ls /"), "bin\ndev\nproc\nsys\ntmp")
}

func ociView(b ociBench) {
	dir := b.TempDir()
	for name, text := range map[string]string{"file": "one", "rw/inside": "two", "hide/secret": "three"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "rw"), 0o777); err != nil {
		b.Fatal(err)
	}
	j := b.ociJob("")
	j.view = append(j.view,
		op{kind: opBind, src: dir + "/file", dst: "/etc/deep/file"},
		op{kind: opBind, src: dir + "/rw", dst: "/data/rw", write: true},
		op{kind: opBind, src: dir + "/hide", dst: "/hide"}, op{kind: opEmpty, dst: "/hide/secret"},
		op{kind: opSymlink, src: "/etc/deep", dst: "/link"}, op{kind: opSymlink, src: "../nowhere", dst: "/etc/dangling"},
		op{kind: opEmpty, dst: "/etc/empty"}, op{kind: opDir, dst: "/some/dir"},
		op{kind: opTmpfs, dst: "/list"}, op{kind: opSymlink, src: "file", dst: "/list/link"}, op{kind: opBind, src: dir + "/file", dst: "/list/file"},
	)
	script := func(s string) job { k := j; k.args = []string{"-c", s}; return k }
	b.says(script("cat /link/file /data/rw/inside /hide/secret /etc/empty /list/link; ls /some/dir; busybox readlink /etc/dangling"), "one\ntwo\none\n../nowhere")
	b.says(script("for f in /etc/deep/file /hide/secret /hide/new /etc/empty /some/dir/x /list/x /list/file /etc/x; do (echo x > $f) 2>/dev/null && echo $f; done; true"), "")
	b.says(script("echo four > /data/rw/new && cat /data/rw/new"), "four")
	if data, err := os.ReadFile(dir + "/rw/new"); err != nil || string(data) != "four\n" {
		b.Errorf("%q, %v", data, err)
	}
	b.says(script("ls "+b.temp+" 2>/dev/null | wc -l"), "0")
}

func ociNested(b ociBench) {
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "home/u/project"), 0o755); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"home/u/secret", "home/u/project/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name+"\n"), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	j := b.ociJob("ls -R /home /other /tmp; cat /home/u/project/file; for d in /home /home/u /home/u/project /other /other/u /tmp/a/b; do touch $d/x 2>/dev/null && echo $d; done; touch /tmp/y && echo tmp")
	project := dir + "/home/u/project"
	j.view = append(j.view,
		op{kind: opTmpfs, dst: "/home", write: true, size: 1 << 16}, op{kind: opDir, dst: "/home/u"}, op{kind: opBind, src: project, dst: "/home/u/project"},
		op{kind: opBind, src: dir + "/home", dst: "/other"}, op{kind: opTmpfs, dst: "/other/u"}, op{kind: opDir, dst: "/other/u/x"}, op{kind: opBind, src: project, dst: "/other/u/x/project"},
		op{kind: opDir, dst: "/tmp/a"}, op{kind: opBind, src: project, dst: "/tmp/a/b"}, op{kind: opDir, dst: "/tmp/d"},
	)
	out, notes, err := b.run(j, "")
	want := `/home:
u

/home/u:
project

/home/u/project:
file

/other:
u

/other/u:
x

/other/u/x:
project

/other/u/x/project:
file

/tmp:
a
d

/tmp/a:
b

/tmp/a/b:
file

/tmp/d:
home/u/project/file
/home
`
	if os.Geteuid() != 0 {
		want += "/home/u\n" // made by the runtime, as the one user there is
	}
	want += "tmp\n"
	if err != nil || out != want || notes != "" {
		b.Errorf("%s, %s, %v", out, notes, err)
	}
	// What cannot be made.
	for _, bad := range [][]op{
		{{kind: opSymlink, src: "x", dst: "/tmp/link"}},
		{{kind: opDir, dst: "/bin/none"}},
		{{kind: opBind, src: dir + "/none", dst: "/none"}},
		{{kind: opBind, src: dir, dst: "/bin/none"}},
		{{kind: opTmpfs, dst: "/"}},
		{{kind: opSymlink, src: "/etc", dst: "/out"}, {kind: opDir, dst: "/out/of/it"}},
		{{kind: opSymlink, src: "../../../..", dst: "/out"}, {kind: opEmpty, dst: "/out/empty"}},
	} {
		j := b.ociJob("true")
		j.view = append(j.view, bad...)
		var failed *EngineError
		if _, _, err := b.run(j, ""); !errors.As(err, &failed) {
			b.Errorf("%+v: %v", bad, err)
		}
	}
}

// ociSubmounts has nothing that is mounted below what is shown be written to.
func ociSubmounts(b ociBench) {
	if os.Geteuid() != 0 {
		b.Skip("only root mounts")
	}
	dir := b.TempDir()
	sub := filepath.Join(dir, "a/sub")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", sub, "tmpfs", 0, "mode=1777,size=65536"); err != nil {
		b.Skipf("NOT TESTED: nothing can be mounted: %v", err)
	}
	b.Cleanup(func() { _ = syscall.Unmount(sub, syscall.MNT_DETACH) })
	if err := os.WriteFile(sub+"/file", []byte("there\n"), 0o666); err != nil {
		b.Fatal(err)
	}
	for write, want := range map[bool]string{false: "there\nno", true: "there\nwritten"} {
		j := b.ociJob("cat /d/a/sub/file; touch /d/a/sub/x 2>/dev/null && echo written || echo no")
		j.view = append(j.view, op{kind: opBind, src: dir, dst: "/d", write: write})
		b.says(j, want)
	}
}

// ociOthers shows what root can reach and a root of a user namespace cannot, and files of
// file systems that are mounted with more options than a bind may take away.
func ociOthers(b ociBench) {
	if os.Geteuid() != 0 {
		b.Skip("only root reaches everything")
	}
	dir := b.TempDir()
	shown := filepath.Join(dir, "private/shown")
	if err := errors.Join(os.MkdirAll(shown, 0o755), os.WriteFile(shown+"/file", []byte("there\n"), 0o644),
		os.Chown(filepath.Dir(shown), 54321, 54321), os.Chmod(filepath.Dir(shown), 0o700)); err != nil {
		b.Fatal(err)
	}
	j := b.ociJob("cat /d/file /f; touch /d/x 2>/dev/null && echo written || echo no")
	view := j.view
	j.view = append(view, op{kind: opBind, src: shown, dst: "/d"}, op{kind: opBind, src: shown + "/file", dst: "/f"})
	b.says(j, "there\nthere\nno")

	if err := syscall.Mount("tmpfs", shown, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC|syscall.MS_NOATIME, "size=65536"); err != nil {
		b.Skipf("NOT TESTED: nothing can be mounted: %v", err)
	}
	b.Cleanup(func() { _ = syscall.Unmount(shown, syscall.MNT_DETACH) })
	if err := os.WriteFile(shown+"/file", []byte("there\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	b.says(j, "there\nthere\nno")
	// Root itself, without its rights.
	b.says(b.ociJobAs(0, "echo $(id -u):$(id -g); grep CapEff /proc/self/status"), "0:0\nCapEff:\t0000000000000000")
}

// ociJobAs is ociJob as another user.
func (b ociBench) ociJobAs(id int, script string) job {
	j := b.ociJob(script)
	j.uid, j.gid = id, id
	return j
}

// ociParallel runs many at a time.
func ociParallel(b ociBench) {
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			want := strconv.Itoa(i)
			if out, _, err := b.run(b.ociJob("cat"), want); err != nil || out != want {
				b.Errorf("%q, %v, want %s", out, err, want)
			}
		})
	}
	wait.Wait()
}

func ociLimits(b ociBench) {
	j := b.ociJob("grep -E 'Max (core|open|processes)' /proc/self/limits | tr -s ' '")
	b.says(j, "Max core file size 0 0 bytes \nMax processes 1024 1024 processes \nMax open files 4096 4096 files")
	// A fork bomb. Processes that are there count: a runtime's own do too where all are one
	// user's.
	j = b.ociJob("i=0; while [ $i -lt 200 ]; do sleep 100 & i=$((i+1)); done; echo all")
	j.limits.Processes = 60
	if out, _, err := b.run(j, ""); strings.Contains(out, "all") || err == nil {
		b.Errorf("two hundred processes were started: %q, %v", out, err)
	}
	j = b.ociJob("x=0123456789abcdef; while [ ${#x} -lt 1000000000 ]; do x=$x$x; done; echo all")
	j.limits.Memory = 128 << 20
	if out, _, err := b.run(j, ""); strings.Contains(out, "all") || err == nil {
		b.Errorf("it got a gigabyte of memory: %q, %v", out, err)
	}
}

func ociDenied(b ociBench) {
	for _, try := range []string{"mount -t tmpfs x /tmp", "unshare -r true", "unshare -m true", "hostname x", "busybox chroot / true", "busybox mknod /tmp/x c 1 3"} {
		b.says(b.ociJob(try+" 2>/dev/null && echo done || echo no"), "no")
	}
}

// ociRefused has each failure of a runtime told from the job's own.
func ociRefused(b ociBench) {
	bad := filepath.Join(b.busybox, "bin/broken")
	if err := os.WriteFile(bad, []byte("\x7fELF nothing"), 0o755); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = os.Remove(bad) }()
	if err := os.WriteFile(bad+".txt", []byte("text"), 0o644); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = os.Remove(bad + ".txt") }()
	if err := os.WriteFile(bad+".sh", []byte("#!/none/sh\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = os.Remove(bad + ".sh") }()
	if data, err := os.ReadFile("/usr/bin/env"); err != nil { // linked to libraries that are not there
		b.Fatal(err)
	} else if err := os.WriteFile(filepath.Join(b.busybox, "bin/dynamic"), data, 0o755); err != nil {
		b.Fatal(err)
	}
	for path, want := range map[string]string{"/bin/none": "no such file", "/bin/broken": "starting /bin/broken: it is", "/bin/broken.sh": "there is no /none/sh", "/bin/broken.txt": "permission denied", "/bin/dynamic": "there is no /lib", "/tmp": ""} {
		j := b.ociJob("")
		j.path = path
		out, notes, err := b.run(j, "")
		var failed *EngineError
		if !errors.As(err, &failed) || !strings.Contains(strings.ToLower(err.Error()), want) {
			b.Errorf("%s: %q, %q, %v", path, out, notes, err)
		}
	}
	e, ok := b.made.engine.(*ociEngine)
	if !ok {
		b.Fatal("another engine")
	}
	j := b.ociJob("true")
	j.dir = "/bin/busybox"
	var failed *EngineError
	if _, _, err := b.run(j, ""); !errors.As(err, &failed) {
		b.Errorf("it works in a file: %v", err)
	}
	for name, spoil := range map[string]func(*ociEngine){
		"there is no runtime":    func(e *ociEngine) { e.program = "/none/runc" },
		"krmcat is gone":         func(e *ociEngine) { e.stages = func() *program { return openProgram("/none/krmcat") } },
		"a profile that is none": func(e *ociEngine) { e.seccomp = func() *ociSeccomp { return &ociSeccomp{DefaultAction: "none"} } },
		"nowhere to write to":    func(e *ociEngine) { e.temp = "/none" },
	} {
		broken := *e
		spoil(&broken)
		_, _, err := ociBench{T: b.T, engine: &broken, busybox: b.busybox}.run(b.ociJob("true"), "")
		if !errors.As(err, &failed) {
			b.Errorf("%s: %v", name, err)
		}
	}
	old := newOCI(b.way, needs(b, "true"), NewHost(HostOptions{Self: e.self, Environ: []string{"TMPDIR=" + b.temp}}).options)
	if _, err := old.prepare(b.Context(), b.ociJob("true")); !errors.As(err, &failed) {
		b.Errorf("a runtime of no version: %v", err)
	}
}

func ociTry(b ociBench) {
	j := job{dir: "/", uid: nobody, gid: nobody, limits: Limits{}.OrDefault(), view: []op{{kind: opProc, dst: "/proc"}, {kind: opDev, dst: "/dev"}}}
	if out, notes, err := b.run(j, ""); err != nil || out != "" || notes != "" {
		b.Errorf("%q, %q, %v", out, notes, err)
	}
}

// ociWhole shows this machine whole, but for what is hidden.
func ociWhole(b ociBench) {
	j := b.ociJob("ls /home /tmp; cat /etc/shadow; cat " + b.busybox + "/bin/busybox | wc -c; for f in /x /etc/x /usr/x /home/x /sys/x; do touch $f 2>/dev/null && echo $f; done; touch /tmp/x && set -- /proc/[0-9]*; echo $#")
	j.env = []string{"PATH=/usr/bin:/bin"}
	j.view = []op{
		{kind: opBind, src: "/", dst: "/"}, {kind: opProc, dst: "/proc"}, {kind: opDev, dst: "/dev"}, {kind: opTmpfs, dst: "/home"}, {kind: opTmpfs, dst: "/run"}, {kind: opTmpfs, dst: "/sys"},
		{kind: opTmpfs, dst: "/tmp", write: true, size: 1 << 20}, {kind: opTmpfs, dst: "/mnt"},
	}
	if _, err := os.Stat("/etc/shadow"); err == nil {
		j.view = append(j.view, op{kind: opEmpty, dst: "/etc/shadow"})
	}
	out, notes, err := b.run(j, "")
	if err != nil || out != "/home:\n\n/tmp:\n0\n1\n" || !strings.Contains(notes, "busybox") {
		b.Errorf("%q, %q, %v", out, notes, err)
	}
}

// ociNull has this machine's /dev/null stay whose it is, and its files.
func ociNull(b ociBench) {
	owner := func(name string) uint32 {
		info, err := os.Stat(name)
		if err != nil {
			b.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Uid
	}
	before := owner(os.DevNull)
	p, err := b.engine.prepare(b.Context(), b.ociJob("cat; echo out; echo err >&2"))
	if err != nil {
		b.Fatal(err)
	}
	_, err = startAndWait(p.cmd)
	if err := p.settle(err); err != nil || owner(os.DevNull) != before {
		b.Errorf("%v; /dev/null was %d's and is %d's", err, before, owner(os.DevNull))
	}
	file, err := os.Create(filepath.Join(b.TempDir(), "out"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if p, err = b.engine.prepare(b.Context(), b.ociJob("echo out")); err != nil {
		b.Fatal(err)
	}
	p.cmd.Stdout = file
	_, err = startAndWait(p.cmd)
	err = p.settle(err)
	var failed *EngineError
	if refused := errors.As(err, &failed); err != nil && !refused || owner(file.Name()) != uint32(os.Geteuid()) {
		b.Errorf("%v; a file is %d's", err, owner(file.Name()))
	}
}

// ociHost shows this machine's own programs.
func ociHost(b ociBench) {
	j := b.ociJob("id -u >/dev/null && ls /home /root; cat /etc/shadow; echo $?")
	j.path, j.env = "/bin/sh", []string{"PATH=/usr/bin:/bin"}
	j.view = []op{{kind: opProc, dst: "/proc"}, {kind: opDev, dst: "/dev"}, {kind: opTmpfs, dst: "/tmp", write: true, size: 1 << 20}, {kind: opDir, dst: "/home"}, {kind: opDir, dst: "/root"}}
	for _, name := range []string{"/bin", "/sbin", "/lib", "/lib64", "/usr", "/etc"} {
		if text, err := os.Readlink(name); err == nil {
			j.view = append(j.view, op{kind: opSymlink, src: text, dst: name})
		} else if _, err := os.Stat(name); err == nil {
			j.view = append(j.view, op{kind: opBind, src: name, dst: name})
		}
	}
	if _, err := os.Stat("/etc/shadow"); err == nil {
		j.view = append(j.view, op{kind: opEmpty, dst: "/etc/shadow"})
	}
	out, notes, err := b.run(j, "")
	if err != nil || out != "/home:\n\n/root:\n0\n" || notes != "" {
		b.Errorf("%q, %q, %v", out, notes, err)
	}
}

// TestSweep removes what was left behind, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	used, err := newBundle(Runc, temp)
	if err != nil {
		t.Fatal(err)
	}
	left, err := newBundle(Runc, temp)
	if err != nil {
		t.Fatal(err)
	}
	_ = left.lock.Close()
	fresh, err := newBundle(Runc, temp)
	if err != nil {
		t.Fatal(err)
	}
	_ = fresh.lock.Close()
	other := filepath.Join(temp, "other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(temp, bundlePrefix+"link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * staleAfter)
	for _, dir := range []string{used.dir, left.dir, other} {
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	sweep(temp)
	for dir, want := range map[string]bool{used.dir: true, left.dir: false, fresh.dir: true, other: true, link: true} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if err := used.remove(); err != nil {
		t.Error(err)
	}
}
