package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

// comparison compares krmcat with kustomize on one directory.
type comparison struct {
	what     string
	input    input
	versions bool // compare the version commands instead of a build
	// One of the two is set. faster is how many times faster krmcat has to be, and within is the
	// part of the other program's time that it may take at most.
	faster, within float64
}

func (c comparison) String() string { return c.what }

// compared returns the lines of the table that have a target in the design.
func (o options) compared(copier string) []testCase {
	many := 1000
	if o.quick {
		many = 20
	}
	in := func(resources, functions int) input {
		return input{resources: resources, functions: functions, copier: copier}
	}
	return []testCase{
		comparison{what: "version", versions: true, within: startWithin},
		comparison{what: fmt.Sprintf("%d resources, no function", many), input: in(many, 0), within: 1.05},
		comparison{what: "10 resources × 1 exec function", input: in(10, 1), faster: 2},
		comparison{what: "100 resources × 5 exec functions", input: in(100, 5), faster: 4},
		comparison{what: fmt.Sprintf("%d resources × 5 exec functions", many), input: in(many, 5), faster: 4},
	}
}

func (c comparison) measure(ctx context.Context, o options, dir string) (row, error) {
	if err := c.input.write(dir); err != nil {
		return row{}, err
	}
	flags := []string{"--enable-alpha-plugins", "--enable-exec", "."}
	ours := program{dir: dir, argv: append([]string{o.krmcat, "render"}, flags...)}
	theirs := program{dir: dir, argv: append([]string{o.kustomize, "build"}, flags...)}
	if c.versions {
		ours.argv, theirs.argv = []string{o.krmcat, "version"}, []string{o.kustomize, "version"}
	} else if err := alike(ctx, ours, theirs); err != nil {
		return row{}, err
	}
	took, err := inTurn(ctx, o.rounds, ours, theirs)
	if err != nil {
		return row{}, err
	}
	return c.row(took[0], took[1]), nil
}

func (c comparison) row(ours, theirs time.Duration) row {
	r := row{what: c.what, krmcat: milliseconds(ours), neighbour: milliseconds(theirs)}
	if c.within > 0 {
		share := ours.Seconds() / theirs.Seconds()
		r.ratio, r.target = fmt.Sprintf("%.2f of its time", share), fmt.Sprintf("≤ %.2f", c.within)
		r.missed = share > c.within
		return r
	}
	factor := theirs.Seconds() / ours.Seconds()
	r.ratio, r.target = fmt.Sprintf("%.1f times faster", factor), fmt.Sprintf("≥ %.0f", c.faster)
	r.missed = factor < c.faster
	return r
}

func alike(ctx context.Context, ours, theirs program) error {
	a, err := ours.run(ctx)
	if err != nil {
		return err
	}
	b, err := theirs.run(ctx)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) || len(a) == 0 {
		return fmt.Errorf("%w: %d and %d", errDiffer, len(a), len(b))
	}
	return nil
}

// single measures krmcat without a comparison.
type single struct {
	what   string
	input  input
	within time.Duration // 0 for no target
}

func (s single) String() string { return s.what }

func (o options) alone() []testCase {
	many := 1000
	if o.quick {
		many = 20
	}
	return []testCase{
		single{what: fmt.Sprintf("%d resources × 1 Starlark function of a catalog", many), input: input{resources: many, functions: 1, starlark: true}},
		single{what: fmt.Sprintf("%d resources × 5 Starlark functions of a catalog", many), input: input{resources: many, functions: 5, starlark: true}},
	}
}

func (s single) measure(ctx context.Context, o options, dir string) (row, error) {
	p, err := s.input.checked(ctx, o, dir)
	if err != nil {
		return row{}, err
	}
	took, err := inTurn(ctx, o.rounds, p)
	if err != nil {
		return row{}, err
	}
	r := row{what: s.what, krmcat: milliseconds(took[0])}
	if s.within > 0 {
		r.target, r.missed = "< "+milliseconds(s.within), took[0] >= s.within
	}
	return r, nil
}

// write creates the directory and writes the files of the input.
func (in input) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making an input: %w", err)
	}
	for name, text := range in.files() {
		if err := os.WriteFile(dir+"/"+name, text, 0o600); err != nil {
			return fmt.Errorf("making an input: %w", err)
		}
	}
	if in.copier == "" {
		return nil
	}
	data, err := os.ReadFile(in.copier)
	if err != nil {
		return fmt.Errorf("reading the function: %w", err)
	}
	if err := os.WriteFile(dir+"/copy", data, 0o755); err != nil {
		return fmt.Errorf("making the function: %w", err)
	}
	return nil
}
