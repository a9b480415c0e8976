package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/render"
)

// resultsName is the flag for the directory of results.
const resultsName = "results-dir"

// resultsError adds the name of the flag to an error; nil stays nil.
func resultsError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", resultsName, err)
}

// startResults writes a result that says that this render failed, and removes the results of an
// earlier one. If the process is killed, nobody takes the results of another render for those of
// this one. It also checks that results can be written. dir may be "".
func (e *env) startResults(c *cli.Context, dir string) error {
	if dir == "" {
		return nil
	}
	if file := fileOnWay(dir); file != "" {
		return usage(c, "--%s %s is a file: name a directory", resultsName, file)
	}
	return e.writeResults(dir, nil, true)
}

// writeResults writes the results files of kpt and kyaml, and removes those of an earlier render.
// failed reports whether the render failed.
func (e *env) writeResults(dir string, records []render.Record, failed bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return resultsError(&notThereError{path: dir, err: err})
	}
	var files []outputFile
	list := make([]fnexec.Record, len(records))
	for i, rec := range records {
		list[i] = fnexec.Record{Kind: rec.Kind, Program: rec.Ref, Output: rec.Output, Failed: rec.Err != nil}
		data, err := fnexec.ResultsFile(rec.Output.Results)
		if err != nil {
			return err
		}
		if data != nil {
			files = append(files, outputFile{fmt.Sprintf("results-%d.yaml", i), data})
		}
	}
	data, err := fnexec.FunctionResultList(list, failed)
	if err != nil {
		return err
	}
	never := func() error { return nil } // results are written after an interrupt too
	if err := e.writeFiles(dir, append(files, outputFile{"results.yaml", data}), never); err != nil {
		return resultsError(err)
	}
	return resultsError(removeEarlier(dir, files))
}

// removeEarlier removes the results of single calls of an earlier render. What is not a plain file
// is not krmcat's, and stays.
func removeEarlier(dir string, written []outputFile) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return &notThereError{path: dir, err: err}
	}
	ofCall := regexp.MustCompile(`^results-(0|[1-9][0-9]*)\.yaml$`)
	for _, entry := range entries {
		name := entry.Name()
		if !entry.Type().IsRegular() || !ofCall.MatchString(name) || slices.ContainsFunc(written, func(f outputFile) bool { return f.name == name }) {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return &notThereError{path: path, err: err}
		}
	}
	return nil
}
