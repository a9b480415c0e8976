package registry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/mediatypes"
)

// Pull writes the files of an artifact into dir, which is created if necessary, and returns their
// paths in order. Programs become executable. Names and content are verified before anything is
// written. Files get their names by rename, so an interruption leaves whole files or none. An
// existing file is replaced; anything else at its name, such as a link, is an error. Errors:
// *TitleError, *ownfile.InTheWayError, and those of Read.
func (c *Client) Pull(ctx context.Context, a Artifact, dir string) ([]string, error) {
	names, err := fileNames(a)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("pulling %s: %w", a.From.Display(), err)
	}
	scratch.SweepFiles(dir, scratch.Stale)
	for _, name := range names {
		if _, err := ownfile.Free(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("pulling %s: %w", a.From.Display(), err)
		}
	}
	temps, err := writeTemps(ctx, a, dir)
	defer func() {
		for _, t := range temps {
			_ = os.Remove(t) // renamed files are not there any more
		}
	}()
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(dir, name)
		if err := os.Rename(temps[i], paths[i]); err != nil {
			return paths[:i], fmt.Errorf("pulling %s: %w", a.From.Display(), err)
		}
	}
	return paths, nil
}

func writeTemps(ctx context.Context, a Artifact, dir string) ([]string, error) {
	mode := os.FileMode(0o644)
	if a.Role == mediatypes.RoleExec {
		mode = 0o755
	}
	var temps []string
	for i := range a.Files {
		data, err := a.ReadFile(ctx, i)
		if err != nil {
			return temps, err
		}
		t, err := scratch.File{In: dir, Mode: mode}.Stage(data)
		if err != nil {
			return temps, fmt.Errorf("pulling %s: %w", a.From.Display(), err)
		}
		temps = append(temps, t)
	}
	if len(temps) == 0 {
		return nil, &ManifestError{Ref: a.From.Display(), Digest: a.Root.Digest, Err: errors.New("it lists no files")}
	}
	return temps, nil
}
