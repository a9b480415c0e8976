package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	gitignore "github.com/monochromegane/go-gitignore"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// maxIgnore bounds a .krmignore, in bytes.
const maxIgnore = 1 << 20

// ignorer has the patterns of one .krmignore, which count in one package alone.
type ignorer struct{ matcher gitignore.IgnoreMatcher }

// readIgnore reads the .krmignore of a directory; one that ignores nothing if there is none.
func readIgnore(dir, rel string) (ignorer, error) {
	file := path.Join(rel, ignoreFile)
	f, err := ownfile.OpenBelow(dir, filepath.Join(dir, filepath.FromSlash(file)))
	if errors.Is(err, fs.ErrNotExist) {
		return ignorer{gitignore.DummyIgnoreMatcher(false)}, nil
	}
	if err != nil {
		return ignorer{}, err
	}
	defer func() { _ = f.Close() }()
	data, err := bounded.Read(f, maxIgnore)
	if errors.Is(err, bounded.ErrMore) {
		return ignorer{}, limitError("%s: it is larger than %d bytes", file, maxIgnore)
	}
	if err != nil {
		return ignorer{}, fmt.Errorf("%s: %w", file, err)
	}
	if err := checkIgnore(data, file); err != nil {
		return ignorer{}, err
	}
	return ignorer{gitignore.NewGitIgnoreFromReader(filepath.FromSlash(rel), bytes.NewReader(data))}, nil
}

// checkIgnore refuses lines that the library cannot read: it stops at a long line, and a pattern of
// slashes alone makes it panic.
func checkIgnore(data []byte, file string) error {
	const maxLine = 4096
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		pattern := strings.TrimPrefix(strings.Trim(line, " \r\n"), "!")
		why := ""
		switch {
		case len(line) > maxLine:
			why = fmt.Sprintf("a pattern has more than %d bytes", maxLine)
		case strings.Trim(line, " \r\n") != "" && strings.Trim(pattern, "/") == "":
			why = "the pattern names nothing"
		}
		if why != "" {
			return &yamldoc.Error{File: file, Line: number, Msg: why, Kind: failure.Usage}
		}
	}
	return nil
}

// ignores reports whether a path, relative to the directory that was read, is ignored.
func (i ignorer) ignores(rel string, isDir bool) bool {
	return i.matcher.Match(filepath.FromSlash(rel), isDir)
}
