package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/shim"
)

// Confinement describes how a function's process is confined.
type Confinement struct {
	Asked   bool      // it is to be confined
	Engine  Engine    // "" if nothing confines it
	Root    bool      // it runs as root, since krmcat cannot switch to another user
	Missing []Missing // the engines that do not work, and why
}

// Confinement returns how a process with this grant is going to be confined. The error is an
// *UnconfinedError if it must be confined and cannot be, or a *MountError if its mounts
// cannot be made.
func (g Grant) Confinement(ctx context.Context) (Confinement, error) {
	if g.g == nil {
		return Confinement{}, ErrNotGranted
	}
	a := g.g.allow
	if !a.confines() {
		return Confinement{}, nil
	}
	engine, missing, err := a.On.Engine(ctx)
	var none *UnconfinedError
	if errors.As(err, &none) && a.Confine != ConfineRequire {
		c := Confinement{Asked: true, Missing: none.Missing, Root: keepsRoot(Landlocked) && !a.AsCurrentUser}
		if a.On.options.landlock > 0 {
			c.Engine = Landlocked
			return c, g.inPlace()
		}
		return c, nil
	}
	return Confinement{Asked: true, Engine: engine, Missing: missing, Root: keepsRoot(engine) && !a.AsCurrentUser}, err
}

// engine returns what Confinement found; "" before its first call.
func (g Grant) engine() Engine {
	h := g.g.allow.On
	if !g.g.allow.confines() {
		return ""
	}
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	if h.tried && h.found == nil && h.options.landlock > 0 {
		return Landlocked
	}
	return h.engine
}

// confines reports whether programs of this machine are to be confined if that is possible.
func (a Allow) confines() bool {
	return a.On != nil && (a.Confine == ConfineAuto || a.Confine == ConfineRequire)
}

// confined runs a process on an engine. If ran is false, nothing can confine it and it may run
// unconfined.
func (g Grant) confined(ctx context.Context, c Cmd, s Streams) (ran bool, err error) {
	if c.Root == "" && (!g.g.allow.confines() || !g.g.request.HostExec) {
		return false, nil // Command refuses a grant that is not for a process
	}
	if g.g.allow.On == nil {
		return true, &UnconfinedError{}
	}
	e, err := g.g.allow.On.confiner(ctx)
	var none *UnconfinedError
	if errors.As(err, &none) && c.Root == "" && g.g.allow.Confine != ConfineRequire {
		return g.landlocked(ctx, c, s)
	}
	if err != nil {
		return true, err
	}
	j, err := g.job(c)
	if err != nil {
		return true, err
	}
	return true, g.g.allow.On.confirm(ctx, runOn(ctx, e, j, s))
}

// job describes a process to an engine.
func (g Grant) job(c Cmd) (job, error) {
	j := job{
		path: c.Path, args: c.Args, dir: c.Dir,
		network: g.g.request.Network, limits: g.Limits(),
	}
	if c.Root != "" {
		err := g.imageJob(c, &j)
		return j, err
	}
	var err error
	if j.program = c.Program; j.program != nil {
		j.path = path.Join(programDir, j.program.name)
	} else if j.path, err = find(c.Path, g.g.allow.Host); err != nil {
		return j, err
	}
	j.env = append(g.Environ(), clean(c.Env)...)
	j.env = append(j.env, "TMPDIR=/tmp")
	j.uid, j.gid = g.programUser()
	j.unnamed = true // a read-only mount does not prevent connections to sockets in it
	over, err := g.hostView(&j)
	if err != nil {
		return j, err
	}
	j.view, err = compose(over)
	return j, err
}

// imageJob describes a process that sees the file system of an image.
func (g Grant) imageJob(c Cmd, j *job) error {
	for _, p := range []string{c.Root, c.Path, c.Dir} {
		if !filepath.IsAbs(p) || c.Program != nil {
			return fmt.Errorf("starting %s: %q is not absolute", c.called(), p)
		}
	}
	j.env = append(clean(c.Env), "LOG_TO_STDERR=true", "STRUCTURED_RESULTS=true")
	j.env = append(j.env, g.Asked()...)
	var err error
	if j.uid, j.gid, err = g.imageUser(c.Root); err != nil {
		return err
	}
	over := []op{
		{kind: opBind, src: c.Root, dst: "/"},
		{kind: opProc, dst: "/proc"}, {kind: opDev, dst: "/dev", size: j.limits.Temp}, {kind: opTmpfs, dst: "/sys"},
		{kind: opTmpfs, dst: "/tmp", write: true, size: j.limits.Temp},
	}
	mounts, err := g.mountOps(c.Root, j.limits)
	if err != nil {
		return err
	}
	over = append(over, mounts...)
	j.unnamed = j.network && len(mounts) == 0 // abstract sockets of this machine come with its network
	if j.network {
		over = append(over, nameService(c.Root)...)
	}
	j.view, err = compose(over)
	return err
}

// nameService mounts the files by which this machine resolves names.
func nameService(root string) []op {
	var ops []op
	for _, name := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		if src, err := filepath.EvalSymlinks(name); err == nil {
			ops = append(ops, op{kind: opBind, src: src, dst: resolveIn(root, name)})
		}
	}
	return ops
}

// clean keeps each valid KEY=VALUE, except the variables for krmcat and kustomize.
func clean(env []string) []string {
	var out []string
	for _, e := range env {
		if name, value, ok := strings.Cut(e, "="); ok && validName(name) && !internalName(name) && !strings.ContainsRune(value, 0) {
			out = append(out, e)
		}
	}
	return out
}

// runOn starts a job and waits for it.
func runOn(ctx context.Context, e confiner, j job, s Streams) error {
	var failed *EngineError
	p, err := e.prepare(ctx, j)
	if err != nil {
		if errors.As(err, &failed) {
			failed.early = true
		}
		return err
	}
	said := &bounded.Tail{Max: lastKept, To: s.Stderr}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = s.Stdin, s.Stdout, said
	run := process{cmd: p.cmd, patience: aProcess, over: p.over}
	if p.apart {
		run.own = said
		p.cmd.Stdin, p.cmd.Stdout = cmp.Or[io.Reader](s.Stdin, strings.NewReader("")), cmp.Or(s.Stdout, io.Discard) // all three are passed on
	}
	_, err = run.startAndWait(ctx)
	var start *fs.PathError
	if errors.As(err, &start) && start.Path == shim.ProgramPath {
		start.Path = p.cmd.ExtraFiles[0].Name() // the path of the stage program
	}
	err = p.settle(err)
	var starved *OutOfMemoryError
	if errors.As(err, &starved) { // after what the function wrote
		_, _ = io.WriteString(said, "krmcat: a process of the function was killed: out of memory\n")
	}
	switch {
	case errors.As(err, &failed) && starved != nil:
	case errors.As(err, &failed):
		failed.Err = explained(j, failed.Err)
		if !errors.As(failed.Err, new(*systemError)) { // it is complete without stderr
			failed.Said = textOf(said)
		}
	case starved != nil:
		err = starved.Err
	}
	return err
}

// try runs a job that does nothing.
func try(ctx context.Context, e confiner) error {
	root, err := filepath.EvalSymlinks("/usr")
	if err != nil {
		root = "/"
	}
	id := nobody
	if uid := os.Geteuid(); uid > 0 {
		id = uid
	}
	j := job{dir: "/", uid: id, gid: id, limits: Limits{}.OrDefault(), env: []string{}, view: []op{
		{kind: opBind, src: root, dst: "/usr"}, {kind: opProc, dst: "/proc"}, {kind: opDev, dst: "/dev", size: DefaultTemp},
		{kind: opTmpfs, dst: "/tmp", write: true, size: DefaultTemp},
	}}
	stderr := &bounded.Tail{Max: lastKept}
	err = runOn(ctx, e, j, Streams{Stdout: io.Discard, Stderr: stderr})
	said := textOf(stderr)
	if err == nil || said == "" || errors.As(err, new(*EngineError)) { // an EngineError has stderr already
		return err
	}
	return fmt.Errorf("%w: %s", err, said)
}

// lastKept is how many bytes of stderr are kept.
const lastKept = 1 << 10

// textOf returns what t kept, trimmed.
func textOf(t *bounded.Tail) string {
	kept, _ := t.Bytes()
	return strings.TrimSpace(string(kept))
}
