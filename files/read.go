package files

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
)

// Read reads the resources of a directory. A change that was interrupted is undone first, see
// Recover.
//
// Errors: *yamldoc.Error for a file that cannot be read as YAML, *ownfile.KindError,
// failure.Untrusted for one of the limits, *RecoverError, *fs.PathError.
func Read(ctx context.Context, dir string, opts Options) (*Tree, error) {
	dir, err := resolved(dir)
	if err != nil {
		return nil, err
	}
	undone, err := recoverIn(ctx, dir)
	if err != nil {
		return nil, err
	}
	w, top, err := start(dir, opts)
	if err != nil {
		return nil, err
	}
	defer func() { _ = w.root.Close() }()
	if err := w.walk(ctx, top); err != nil {
		return nil, err
	}
	t := &Tree{dir: dir, opts: opts, packages: w.packages, notes: append(undone.notes(), w.notes...)}
	if t.files, err = readAll(ctx, w); err != nil {
		return nil, err
	}
	return t, nil
}

// resolved returns the absolute path of a directory without links.
func resolved(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// readAll reads and parses the files. Errors are those of the first files that have one, so that
// two runs say the same.
func readAll(ctx context.Context, w *walker) ([]*file, error) {
	list := make([]*file, len(w.found))
	errs := make([]error, len(w.found))
	total := w.limits.Total
	for i, rel := range w.found {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := readFile(w.dir, rel, min(w.limits.File, total))
		if err != nil {
			return nil, err
		}
		total -= int64(len(f.data))
		list[i] = f
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range list {
		g.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = f.parse(w.limits.Documents)
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	documents, shared := 0, 0
	for _, f := range list {
		for _, d := range f.docs {
			shared += d.shared
		}
		if shared > maxShared {
			return nil, limitError("%s: the aliases of the directory stand for too much", f.path)
		}
		if documents += len(f.docs); documents > w.limits.Documents {
			return nil, limitError("%s: the directory has more documents than are read (%d)", f.path, w.limits.Documents)
		}
	}
	return list, errors.Join(errs...)
}

// maxShared bounds the values of all documents that have aliases.
const maxShared = 4 << 20

// file is a file that was read.
type file struct {
	path string // relative, with slashes
	data []byte
	mode fs.FileMode
	docs []document
}

func readFile(dir, rel string, limit int64) (*file, error) {
	in, err := ownfile.OpenBelow(dir, filepath.Join(dir, filepath.FromSlash(rel)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return nil, err
	}
	data, err := bounded.Read(in, limit)
	if errors.Is(err, bounded.ErrMore) {
		return nil, limitError("%s: it, or all files together, are larger than is read", rel)
	}
	if err != nil {
		return nil, err
	}
	return &file{path: rel, data: data, mode: info.Mode().Perm()}, nil
}
