package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/report"
	"github.com/krmcat/krmcat/render"
)

// The flags for the directory of results, and for the formats of the files in it.
const (
	resultsName       = "results-dir"
	resultsFormatName = "results-format"
)

// The formats of results.
const (
	resultsKpt   = "kpt"
	resultsKyaml = "kyaml"
	resultsJSON  = "json"
	resultsJUnit = "junit"
	resultsSARIF = "sarif"
)

func resultsFormats() []string {
	return []string{resultsKpt, resultsKyaml, resultsJSON, resultsJUnit, resultsSARIF}
}

// resultsCall has the values of the flags of results.
type resultsCall struct {
	dir    string
	format string // some of resultsFormats with commas between them; "" for kpt and kyaml
}

func (r *resultsCall) flags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: resultsName, Usage: "write what functions reported to files in `DIR`, also if one fails: results.yaml and results-N.yaml", Destination: &r.dir},
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: resultsFormatName, Usage: "write the results in these `FORMS`, with commas between them: " + orList(resultsFormats()) + " (default: kpt,kyaml)", Destination: &r.format},
			values:     resultsFormats(), check: checkResultsFormat,
		},
	}
}

func checkResultsFormat(value string) error {
	for one := range strings.SplitSeq(value, ",") {
		if !slices.Contains(resultsFormats(), one) {
			return fmt.Errorf("use %s, not %q", orList(resultsFormats()), one)
		}
	}
	return nil
}

// has reports whether a format is written.
func (r *resultsCall) has(format string) bool {
	return slices.Contains(strings.Split(cmp.Or(r.format, resultsKpt+","+resultsKyaml), ","), format)
}

// resultsError adds the name of the flag to an error; nil stays nil.
func resultsError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("--%s: %w", resultsName, err)
}

// startResults writes a result that says that this render failed, and removes the results of an
// earlier one. If the process is killed, nobody takes the results of another render for those of
// this one. It also checks that results can be written.
func (e *env) startResults(c *cli.Context, r *resultsCall) error {
	if r.dir == "" && r.format != "" {
		return usage(c, "--%s needs --%s DIR", resultsFormatName, resultsName)
	}
	known := r.format == "" || checkResultsFormat(r.format) == nil
	if r.dir == "" || !known { // the flags are checked later, and nothing says what to write
		return nil
	}
	if file := fileOnWay(r.dir); file != "" {
		return usage(c, "--%s %s is a file: name a directory", resultsName, file)
	}
	return e.writeResults(r, nil, report.Run{Failed: true, Problem: "the render has not ended"})
}

// calls is what the functions of a command did to the resources of a directory.
type calls struct {
	dir     string // as the user wrote it
	records []render.Record
	err     error // why the command failed; nil if it did not
}

// endResults shows the results of the functions on stderr, and writes them if --results-dir is set.
func (e *env) endResults(r *resultsCall, done calls) error {
	e.shown.Done()
	run := e.reported(done)
	run.Calls = slices.DeleteFunc(run.Calls, func(c report.Call) bool {
		return errors.Is(c.Err, ErrInterrupted) // it neither passed nor failed
	})
	for _, text := range run.Summary(e.verbose) {
		e.shown.Note(text)
	}
	return e.saveResults(r, done)
}

// saveResults is endResults without showing them.
func (e *env) saveResults(r *resultsCall, done calls) error {
	if r.dir == "" {
		return nil
	}
	return e.writeResults(r, done.records, e.reported(done))
}

// reported returns the calls of functions for a report.
func (e *env) reported(done calls) report.Run {
	run := report.Run{Failed: done.err != nil, Version: newVersion(debug.ReadBuildInfo()).Version, Lines: report.NewLines(e.abs(done.dir), done.dir)}
	failed := false
	for _, rec := range done.records {
		failed = failed || rec.Err != nil
		run.Calls = append(run.Calls, report.Call{
			Name: rec.Step.ID.Kind + " " + rec.Step.Name, Where: rec.Step.Where, Kind: rec.Kind, Program: rec.Ref,
			Took: rec.Output.Took, Exit: rec.Output.Exit, Stderr: rec.Output.Stderr, Results: rec.Output.Results, Err: rec.Err,
		})
	}
	if done.err != nil && !failed {
		run.Problem = done.err.Error()
	}
	return run
}

// writeResults writes the results files of the formats, and removes those of an earlier render.
func (e *env) writeResults(r *resultsCall, records []render.Record, run report.Run) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return resultsError(&notThereError{path: r.dir, err: err})
	}
	files, err := r.listFiles(records, run.Failed)
	if err != nil {
		return err
	}
	for _, one := range []struct {
		format, name string
		encode       func() ([]byte, error)
	}{
		{resultsJSON, "results.json", run.JSON}, {resultsJUnit, "results.junit.xml", run.JUnit}, {resultsSARIF, "results.sarif", run.SARIF},
	} {
		if !r.has(one.format) {
			continue
		}
		data, err := one.encode()
		if err != nil {
			return err
		}
		files = append(files, outputFile{one.name, data})
	}
	never := func() error { return nil } // results are written after an interrupt too
	if err := e.writeFiles(r.dir, files, never); err != nil {
		return resultsError(err)
	}
	if !r.has(resultsKyaml) {
		return nil
	}
	return resultsError(removeEarlier(r.dir, files))
}

// listFiles returns the files in the formats of kyaml and kpt.
func (r *resultsCall) listFiles(records []render.Record, failed bool) ([]outputFile, error) {
	var files []outputFile
	list := make([]fnexec.Record, len(records))
	for i, rec := range records {
		list[i] = fnexec.Record{Kind: rec.Kind, Program: rec.Ref, Output: rec.Output, Failed: rec.Err != nil}
		data, err := fnexec.ResultsFile(rec.Output.Results)
		if err != nil {
			return nil, err
		}
		if data != nil && r.has(resultsKyaml) {
			files = append(files, outputFile{fmt.Sprintf("results-%d.yaml", i), data})
		}
	}
	if !r.has(resultsKpt) {
		return files, nil
	}
	data, err := fnexec.FunctionResultList(list, failed)
	return append(files, outputFile{"results.yaml", data}), err
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
