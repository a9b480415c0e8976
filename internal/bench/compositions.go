package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// linear is the factor of time that is allowed for ten times as many resources.
const linear = 12

// composed returns the lines of the table about Compositions. They are compared with kyaml itself,
// if at all: the kustomize CLI has no Compositions.
func (o options) composed(copier, kyaml string) []testCase {
	many, few := 1000, 100
	if o.quick {
		many, few = 20, 10
	}
	in := func(resources int) input {
		return input{resources: resources, functions: 10, copier: copier, composition: true}
	}
	return []testCase{
		nextToKyaml{
			what:  fmt.Sprintf("Composition, %d resources × 10 exec functions, compared with parsing and printing 10 times by kyaml", many),
			input: in(many), kyaml: kyaml, within: 1.2,
		},
		larger{
			what:  fmt.Sprintf("Composition, %d resources × 10 exec functions", 10*many),
			input: in(10 * many), smaller: in(many), within: linear,
		},
		single{
			what:   fmt.Sprintf("Composition, %d resources × 200 Starlark functions that set a label", few),
			input:  input{resources: few, functions: 200, starlark: true, composition: true},
			within: time.Second,
		},
	}
}

// nextToKyaml compares krmcat with a program that only parses and prints the functions' input, once
// for each function.
type nextToKyaml struct {
	what   string
	input  input
	kyaml  string  // the program
	within float64 // part of kyaml's time
}

func (n nextToKyaml) String() string { return n.what }

func (n nextToKyaml) measure(ctx context.Context, o options, dir string) (row, error) {
	ours, err := n.input.checked(ctx, o, dir)
	if err != nil {
		return row{}, err
	}
	took, err := inTurn(ctx, o.rounds, ours, program{dir: dir, argv: []string{n.kyaml, listFile}})
	if err != nil {
		return row{}, err
	}
	return comparison{what: n.what, within: n.within}.row(took[0], took[1]), nil
}

// larger measures how the time grows with the number of resources.
type larger struct {
	what           string
	input, smaller input
	within         float64 // factor of the smaller input's time
}

func (l larger) String() string { return l.what }

func (l larger) measure(ctx context.Context, o options, dir string) (row, error) {
	large, err := l.input.checked(ctx, o, filepath.Join(dir, "large"))
	if err != nil {
		return row{}, err
	}
	small, err := l.smaller.checked(ctx, o, filepath.Join(dir, "small"))
	if err != nil {
		return row{}, err
	}
	took, err := inTurn(ctx, o.rounds, large, small)
	if err != nil {
		return row{}, err
	}
	ratio := took[0].Seconds() / took[1].Seconds()
	return row{
		what:   fmt.Sprintf("%s; %d resources take %s", l.what, l.smaller.resources, milliseconds(took[1])),
		krmcat: milliseconds(took[0]), ratio: fmt.Sprintf("%.1f times the smaller input", ratio),
		target: fmt.Sprintf("≤ %.0f, linear", l.within), missed: ratio > l.within,
	}, nil
}

// checked writes the input, and returns the program that renders it. It has checked that the
// program prints every resource as the functions leave it.
func (in input) checked(ctx context.Context, o options, dir string) (program, error) {
	if err := in.write(dir); err != nil {
		return program{}, err
	}
	argv := []string{o.krmcat, "render", "."}
	mark := "\nkind:"
	if in.starlark {
		argv = append(argv, "--trusted-catalog", "catalog.yaml")
		mark = touched
	} else {
		argv = append(argv, "--enable-alpha-plugins", "--enable-exec")
	}
	p := program{dir: dir, argv: argv}
	out, err := p.run(ctx)
	if err != nil {
		return program{}, err
	}
	if n := bytes.Count(out, []byte(mark)); n != in.resources {
		return program{}, fmt.Errorf("the output has %d of %d resources as the functions leave them", n, in.resources)
	}
	return p, nil
}
