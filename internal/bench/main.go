package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/testmain"
)

func main() { testmain.Main(run) }

// options are the flags.
type options struct {
	krmcat, kustomize, cosign, registry string // programs
	crane                               string
	rounds                              int    // number of measurements of each program
	quick                               bool   // three rounds on small inputs, to test the bench itself
	only                                string // measure only the lines that contain this
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.krmcat, "krmcat", "bin/krmcat", "the `program` that is measured")
	flags.StringVar(&o.kustomize, "kustomize", "bin/tools/kustomize", "the `program` it is compared with")
	flags.StringVar(&o.cosign, "cosign", "bin/tools/cosign-v2", "the `program` that verifying is compared with")
	flags.StringVar(&o.registry, "registry", "bin/tools/registry", "the registry, a `program`")
	flags.StringVar(&o.crane, "crane", "bin/tools/crane", "the `program` that pushes images, and that unpacking them is compared with")
	flags.IntVar(&o.rounds, "rounds", 7, "how often each program is measured")
	flags.BoolVar(&o.quick, "quick", false, "few rounds on small inputs, to see that this program works")
	flags.StringVar(&o.only, "only", "", "measure only the lines that contain this `text`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.quick {
		o.rounds = 1
	}
	if err := testmain.Absolute(&o.krmcat, &o.kustomize, &o.cosign, &o.registry, &o.crane); err != nil {
		return err
	}
	return testmain.InDir("krmcat-bench-", func(dir string) error {
		if err := o.fresh(dir); err != nil {
			return err
		}
		missed, err := o.all(ctx, dir, out)
		if err != nil {
			return err
		}
		if len(missed) > 0 && os.Getenv("BENCH_STRICT") == "1" {
			return fmt.Errorf("targets missed: %v", missed)
		}
		return nil
	})
}

// fresh copies the programs. On some systems a file that the linker has just written starts several
// milliseconds slower than a copy of it.
func (o *options) fresh(dir string) error {
	for _, p := range []*string{&o.krmcat, &o.kustomize, &o.cosign, &o.crane} {
		data, err := os.ReadFile(*p)
		if err != nil {
			return fmt.Errorf("copying the programs: %w", err)
		}
		*p = filepath.Join(dir, filepath.Base(*p))
		if err := os.WriteFile(*p, data, 0o755); err != nil {
			return fmt.Errorf("copying the programs: %w", err)
		}
	}
	return nil
}

// all measures everything, and prints each line of the table when it is complete. It returns the
// lines that missed their target.
func (o options) all(ctx context.Context, dir string, out io.Writer) ([]string, error) {
	copier, err := buildProgram(ctx, dir, "copy")
	if err != nil {
		return nil, err
	}
	kyaml, err := buildProgram(ctx, dir, "kyaml")
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s/%s, %d processors, medians of %d rounds (%d if a round takes less than a second), krmcat and the other program in turn\n\n",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.rounds, often*o.rounds)
	fmt.Fprintln(out, "| what | krmcat | other program (kustomize if not named) | ratio | target | |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	var missed []string
	for _, c := range slices.Concat(o.compared(copier), o.composed(copier, kyaml), o.alone(), []testCase{trust{}, trust{render: true}, trust{render: true, own: true}, catalogs{o.quick}}, o.sandboxed(copier)) {
		if !strings.Contains(c.String(), o.only) {
			continue
		}
		first, err := c.measure(ctx, o, filepath.Join(dir, "w"))
		if err = errors.Join(err, os.RemoveAll(filepath.Join(dir, "w"))); err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		for _, r := range append([]row{first}, first.more...) {
			fmt.Fprintln(out, r)
			if r.missed {
				missed = append(missed, r.what)
			}
		}
	}
	return missed, nil
}

// buildProgram builds a program of testdata.
func buildProgram(ctx context.Context, dir, name string) (string, error) {
	file := filepath.Join(dir, name)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", file, "./internal/bench/testdata/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program %s: %w\n%s", name, err, text)
	}
	return file, nil
}

// testCase is one line of the table.
type testCase interface {
	fmt.Stringer
	measure(ctx context.Context, o options, dir string) (row, error)
}
