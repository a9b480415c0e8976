package exec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// Kind is the key of this runtime under `runtime:`.
const Kind = "exec"

// Options say where programs are cached.
type Options struct {
	// CacheDir is the absolute path of krmcat's cache, a directory that only the user can write
	// to. If it cannot be used, programs are fetched for each render.
	CacheDir string
	// TempDir is a directory for a copy of a program, made for each call on systems that cannot
	// start one from memory; "" for the system's.
	TempDir string
	// Warn is called if a cached program was changed. It may be nil.
	Warn func(string)
}

// Runtime runs programs of this host. It implements fnexec.Runtime and fnexec.Pinner.
type Runtime struct {
	options Options
	held    *held
}

// held holds the programs that this process has read. A program of many functions is read and
// hashed once.
type held = shared.Calls[heldKey, *sandbox.Program]

// heldKey identifies a program: the digest of the verified bytes, and the name of the program in
// them if they are an archive.
type heldKey struct {
	blob      digest.Digest
	bin, name string
}

// New returns the runtime.
func New(o Options) *Runtime {
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Runtime{o, &held{Again: true}}
}

// Kind implements fnexec.Runtime.
func (*Runtime) Kind() string { return Kind }

// Prepare implements fnexec.Runtime. The error is a *fnexec.SpecError, or a *PlatformError if the
// function is not offered for this platform.
func (r *Runtime) Prepare(n *yaml.RNode, at fnexec.Site) (fnexec.Prepared, error) {
	s, err := read(n, at)
	if err != nil {
		return fnexec.Prepared{}, err
	}
	p, platform, err := s.choose(at)
	if err != nil {
		return fnexec.Prepared{}, err
	}
	if at.Inline && p.path != "" && p.sha256 == "" {
		return r.inPlace(s, p, at)
	}
	if at.Inline && p.bare() {
		// Without the sha256 the name would mean the program in PATH, and with it this file.
		p.at.Get("path").Fail("%s is looked up in PATH, where no sha256 is checked: write ./%s for the file in %s", p.path, p.path, at.Dir)
		return fnexec.Prepared{}, p.at.Err()
	}
	from, err := p.locator(at)
	if err != nil {
		return fnexec.Prepared{}, err
	}
	l := loader{options: r.options, held: r.held, bin: p.bin, args: s.args, work: at.Work}
	return fnexec.Prepared{
		Needs: fnexec.Needs{
			From:     from,
			Want:     registry.Want{Role: mediatypes.RoleExec, Platform: platform},
			Promised: p.sha256,
			Inner:    l.inner,
			Use:      verify.UseProgram,
			Title:    Kind + " " + p.title(),
			Request:  s.request,
			Args:     s.args,
		},
		Load: l.load,
	}, nil
}

func (p program) title() string {
	if p.path != "" {
		return p.path
	}
	return p.uri
}

// bare reports whether the path is a bare name, which is looked up in PATH if a user wrote it.
func (p program) bare() bool { return p.path != "" && !strings.ContainsAny(p.path, `/\`) }

// inPlace prepares a program that the user enables by a flag and that runs where it is. A bare name
// is looked up in PATH later.
func (r *Runtime) inPlace(s spec, p program, at fnexec.Site) (fnexec.Prepared, error) {
	path := filepath.FromSlash(p.path)
	from := reference.Locator{Scheme: reference.SchemeFile, Name: path}
	if !p.bare() {
		var err error
		if from, err = p.locator(at); err != nil {
			return fnexec.Prepared{}, err
		}
		path = from.Name
	}
	run := runner{path: path, args: s.args, dir: at.Work, temp: r.options.TempDir}
	needs := fnexec.Needs{
		From:    from,
		Want:    registry.Want{Role: mediatypes.RoleExec},
		Use:     verify.UseProgram,
		InPlace: true,
		Title:   Kind + " " + p.path,
		Request: s.request,
		Args:    s.args,
	}
	if p.bare() {
		needs.Look = func(ctx context.Context, g sandbox.Grant) (reference.Locator, error) {
			found, err := run.look(ctx, g, at.Dir)
			return reference.Locator{Scheme: reference.SchemeFile, Name: found}, err
		}
	}
	return fnexec.Prepared{
		Needs: needs,
		Load: func(ctx context.Context, t verify.Trusted, g sandbox.Grant) (fnexec.Runner, error) {
			r, err := run.at(ctx, t, g)
			if err != nil {
				return nil, fmt.Errorf("loading %s: %w", p.path, err)
			}
			return r, nil
		},
	}, nil
}

// at returns the runner of what was verified: of the held content, or else of the file.
func (r runner) at(ctx context.Context, t verify.Trusted, g sandbox.Grant) (runner, error) {
	if err := keys(t, g); err != nil {
		return r, err
	}
	a, err := t.Artifact()
	if err != nil {
		return r, err
	}
	r.grant, r.path = g, a.From.Name // a name that was looked up once is not looked up again
	if err := r.there(); err != nil || len(a.Files) == 0 {
		return r, err
	}
	data, err := t.Read(ctx, 0)
	if err != nil {
		return r, err
	}
	r.held, err = sandbox.Hold(fileName(filepath.Base(r.path)), bytes.NewReader(data))
	return r, err
}

// keys refuses a zero Trusted and a zero Grant.
func keys(t verify.Trusted, g sandbox.Grant) error {
	if _, err := t.Artifact(); err != nil {
		return err
	}
	if !g.Valid() {
		return sandbox.ErrNotGranted
	}
	return nil
}

// loader makes a Runner of a verified program.
type loader struct {
	options Options
	held    *held
	bin     string
	args    []string
	work    string
}

// inner implements fnexec.Needs.Inner: it returns the digest of the program inside an archive;
// "" if the blob is not an archive.
func (l loader) inner(ctx context.Context, blob []byte) (digest.Digest, error) {
	if archiveOf(blob) == nil {
		return "", nil
	}
	data, err := extract(ctx, blob, l.bin)
	if err != nil {
		return "", err
	}
	return digest.FromBytes(data), nil
}

func (l loader) load(ctx context.Context, t verify.Trusted, g sandbox.Grant) (fnexec.Runner, error) {
	if err := keys(t, g); err != nil {
		return nil, fmt.Errorf("loading the program: %w", err)
	}
	a, err := t.Artifact()
	if err != nil {
		return nil, err
	}
	p, err := l.place(ctx, t, a)
	if err != nil {
		return nil, fmt.Errorf("loading %s: %w", a.From, err)
	}
	return runner{held: p, temp: l.options.TempDir, args: l.args, dir: l.work, grant: g}, nil
}

// place returns the program: one that is held already, from the cache, or from its source. It adds
// it to the cache in the last case.
func (l loader) place(ctx context.Context, t verify.Trusted, a registry.Artifact) (*sandbox.Program, error) {
	if len(a.Files) == 0 {
		return nil, errors.New("it contains no file")
	}
	name := l.bin
	if name == "" {
		name = registry.Title(a.Files[0])
	}
	return l.held.Do(ctx, heldKey{a.Files[0].Digest, l.bin, name}, func() (*sandbox.Program, error) {
		return l.fetch(ctx, t, a.Files[0].Digest, name)
	})
}

func (l loader) fetch(ctx context.Context, t verify.Trusted, d digest.Digest, name string) (*sandbox.Program, error) {
	st := store{dir: l.options.CacheDir, warn: l.options.Warn}
	if err := st.private(d, name); err != nil {
		return nil, err
	}
	// The cache never holds an archive: an entry is the program itself.
	if p := st.find(d, name); p != nil {
		return p, nil
	}
	data, err := t.Read(ctx, 0)
	if err != nil {
		return nil, err
	}
	if archiveOf(data) != nil {
		if data, err = extract(ctx, data, l.bin); err != nil {
			return nil, err
		}
	}
	return st.put(data, name)
}

// runner starts the program for each call.
type runner struct {
	path  string
	held  *sandbox.Program // the verified program; nil if path is started
	temp  string
	args  []string
	dir   string
	grant sandbox.Grant
}

// there checks that the program exists, before other functions run.
func (r runner) there() error {
	if !filepath.IsAbs(r.path) {
		return &sandbox.NotFoundError{Name: r.path} // a bare name that was not looked up
	}
	info, err := os.Stat(r.path)
	if err != nil {
		return err
	}
	if err := fnexec.Executable(info.Mode()); err != nil {
		return &fnexec.ProgramError{Program: r.path, Reason: err.Error()}
	}
	return nil
}

// look returns the file that a bare name is in PATH. beside is the directory of the config that has
// the name.
func (r runner) look(ctx context.Context, g sandbox.Grant, beside string) (string, error) {
	cmd, err := g.Command(ctx, sandbox.Cmd{Path: r.path, Dir: r.dir})
	if err == nil {
		return cmd.Path, nil
	}
	if _, there := os.Stat(filepath.Join(beside, r.path)); beside != "" && there == nil {
		return "", fmt.Errorf("%w; the one beside the config is ./%s", err, r.path)
	}
	return "", err
}

// Run implements fnexec.Runner.
func (r runner) Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	err := r.grant.Run(ctx, sandbox.Cmd{Path: r.path, Program: r.held, Temp: r.temp, Args: r.args, Dir: r.dir},
		sandbox.Streams{Stdin: in, Stdout: out, Stderr: stderr})
	if code, ok := sandbox.ExitCode(err); ok {
		return &fnexec.ExitError{Code: code, Err: err}
	}
	return err
}
