package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/ownfile"
)

// walker lists the files of a directory that hold resources.
type walker struct {
	dir     string // absolute, without links
	root    *os.Root
	opts    Options
	limits  Limits
	entries int

	found    []string // relative, with slashes, in the order of the directories
	packages []string
	notes    []string
}

// in is what counts for the entries of a directory.
type in struct {
	rel    string
	depth  int
	ignore ignorer
	// passed says that the directory is ignored: only packages in it are looked for.
	passed bool
}

func (w *walker) walk(ctx context.Context, d in) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.depth > w.limits.Depth {
		return limitError("%s: directories are nested more than %d deep", d.rel, w.limits.Depth)
	}
	entries, err := w.list(d.rel)
	if err != nil {
		return err
	}
	if w.entries += len(entries); w.entries > w.limits.Entries {
		return limitError("%s: the directory has more than %d entries", w.dir, w.limits.Entries)
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == Kptfile && !e.IsDir() }) {
		w.packages = append(w.packages, d.rel)
	}
	for _, e := range entries {
		rel := path.Join(d.rel, e.Name())
		if e.IsDir() {
			err = w.below(ctx, d, rel)
		} else if !d.passed {
			err = w.file(d, rel, e.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) list(rel string) ([]fs.DirEntry, error) {
	f, err := w.root.Open(rel)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	// One more than is allowed: the number of entries of a directory has no bound.
	entries, err := f.ReadDir(max(1, w.limits.Entries-w.entries+1))
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// below walks a directory in the directory d.
func (w *walker) below(ctx context.Context, d in, rel string) error {
	name := path.Base(rel)
	if name == ".git" || name == stateDir {
		return nil
	}
	next := in{rel: rel, depth: d.depth + 1, ignore: d.ignore, passed: d.passed || d.ignore.ignores(rel, true)}
	if w.opts.Packages == Plain || !w.isPackage(rel) {
		if next.passed && w.opts.Packages != Kept {
			return nil
		}
		return w.walk(ctx, next)
	}
	if w.opts.Packages == Apart || next.passed && w.opts.Packages != Kept {
		return nil
	}
	var err error
	if next.ignore, err = readIgnore(w.dir, rel); err != nil {
		return err
	}
	next.passed = false
	return w.walk(ctx, next)
}

func (w *walker) isPackage(rel string) bool {
	info, err := w.root.Lstat(path.Join(rel, Kptfile))
	return err == nil && !info.IsDir()
}

// file adds a file if it holds resources.
func (w *walker) file(d in, rel string, mode fs.FileMode) error {
	if !w.opts.holds(rel) || d.ignore.ignores(rel, false) {
		return nil
	}
	switch {
	case mode&fs.ModeSymlink != 0:
		w.notes = append(w.notes, rel+" is a link, and is not read: resources are read from files")
	case !mode.IsRegular():
		return &ownfile.KindError{Path: rel, Mode: mode}
	default:
		w.found = append(w.found, rel)
	}
	return nil
}

// holds reports whether a file of this path holds resources.
func (o Options) holds(rel string) bool {
	base := path.Base(rel)
	switch path.Ext(base) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return o.Kptfiles && base == Kptfile
}

// start opens the directory and returns its walker.
func start(dir string, opts Options) (*walker, in, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, in{}, fmt.Errorf("reading the directory: %w", err)
	}
	ignore, err := readIgnore(dir, ".")
	if err != nil {
		_ = root.Close()
		return nil, in{}, err
	}
	return &walker{dir: dir, root: root, opts: opts, limits: opts.Limits.orDefault()}, in{rel: ".", ignore: ignore}, nil
}
