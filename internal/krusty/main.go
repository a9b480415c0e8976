package main

import (
	"context"
	"flag"
	"fmt"
	"io"

	"github.com/krmcat/krmcat/internal/testmain"
)

func main() { testmain.Main(run) }

// options are the flags.
type options struct {
	krmcat, kustomize string // programs
	differences       string // the file with the tests that may fail
	harness           string // the directory with the files that replace those of kustomize's tests
	only              string // the tests whose names match this
	verbose           bool
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("krusty", flag.ContinueOnError)
	flags.StringVar(&o.krmcat, "krmcat", "bin/krmcat", "the `program` that is tested")
	flags.StringVar(&o.kustomize, "kustomize", "bin/tools/kustomize", "the `program` it is compared with")
	flags.StringVar(&o.differences, "differences", "internal/krusty/testdata/differences.txt", "the `file` with the tests that may fail")
	flags.StringVar(&o.harness, "harness", "internal/krusty/testdata/harness", "the `directory` with the files that replace those of kustomize's tests")
	flags.StringVar(&o.only, "run", "", "run only the tests whose names match this `expression`, and ignore the file of tests that may fail")
	flags.BoolVar(&o.verbose, "v", false, "print what the tests print with krmcat")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := testmain.Absolute(&o.krmcat, &o.kustomize); err != nil {
		return err
	}
	return testmain.InDir("krmcat-krusty-", func(dir string) error {
		suite, err := o.build(ctx, dir)
		if err != nil {
			return err
		}
		return o.compare(ctx, suite, out)
	})
}

// compare runs the tests with both programs, and prints where they differ.
func (o options) compare(ctx context.Context, s suite, out io.Writer) error {
	theirs, _, err := s.run(ctx, o.kustomize, "", o.only)
	if err != nil {
		return err
	}
	ours, said, err := s.run(ctx, o.krmcat, o.kustomize, o.only)
	if err != nil {
		return err
	}
	if o.verbose {
		fmt.Fprintf(out, "%s\n", said)
	}
	listed, err := readDifferences(o.differences)
	if err != nil {
		return err
	}
	if o.only != "" {
		listed = nil
	}
	passed := theirs.with(pass)
	fmt.Fprintf(out, "kustomize's own tests: %d pass with the kustomize CLI (%d fail and %d are skipped without a network)\n",
		len(passed), len(theirs.with(fail)), len(theirs.with(skip)))
	if o.only == "" && len(passed) < atLeast {
		return fmt.Errorf("only %d tests pass with %s, too few to compare with", len(passed), o.kustomize)
	}
	wrong := judge(theirs, ours, listed)
	for _, w := range wrong {
		fmt.Fprintln(out, w)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d of kustomize's tests do not match %s", len(wrong), o.differences)
	}
	fmt.Fprintf(out, "%d of them pass with krmcat, %d differ as listed\n", len(passed)-len(listed), len(listed))
	return nil
}

// atLeast is the number of tests that pass at least with the kustomize CLI. If fewer pass, the run
// is broken.
const atLeast = 300
