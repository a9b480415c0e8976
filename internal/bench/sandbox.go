package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The targets for calls of functions in a sandbox.
const (
	// callsFaster is how many times faster a call has to be with krmcat's default engine than with
	// docker through kustomize.
	callsFaster = 20
	// confinedWithin is the time that confining a program of this machine may add to a call.
	confinedWithin = 10 * time.Millisecond
	// manyCalls is the number of functions from which the cost of one call is computed.
	manyCalls = 10
)

// sandboxed returns the lines of the table about functions in a sandbox.
func (o options) sandboxed(copier string) []testCase {
	return []testCase{calls{copier: copier}, firstRun{copier: copier}}
}

// calls measures the cost of one more call of a function, for every way to run it. The cost is the
// time with ten functions less the time with none, over ten resources, divided by ten. Each call is
// a process of its own.
type calls struct{ copier string }

func (calls) String() string { return "call of a function, sandboxed" }

// way is one way to run a function.
type way struct {
	what    string
	program program // makes ten calls
	none    int     // index of the program without a function that it is compared with
	absent  error   // why it is not measured
	took    time.Duration
}

// measure implements testCase.
func (c calls) measure(ctx context.Context, o options, dir string) (row, error) {
	images, err := startImages(ctx, o, dir)
	if err != nil {
		return row{}, err
	}
	defer images.stop()
	image, err := images.push(ctx, "small", c.copier, 0)
	if err != nil {
		return row{}, err
	}
	for name, in := range map[string]input{
		"none": {}, "exec": {functions: manyCalls, copier: c.copier}, "image": {functions: manyCalls, image: image},
	} {
		in.resources = 10
		if err := in.write(filepath.Join(dir, name)); err != nil {
			return row{}, err
		}
	}
	docker, noDocker := startDocker(ctx, dir)
	defer docker.stop()
	if noDocker == nil {
		noDocker = docker.pull(ctx, image)
	}
	ways := c.ways(o, dir, docker.env, noDocker)
	if err := sameOutput(ctx, ways); err != nil {
		return row{}, err
	}
	none := []program{
		{dir: filepath.Join(dir, "none"), argv: []string{o.kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "."}},
		{dir: filepath.Join(dir, "none"), argv: []string{o.krmcat, "render", "--enable-alpha-plugins", "--enable-exec", "."}},
	}
	if err := marginal(ctx, o.rounds, none, ways); err != nil {
		return row{}, err
	}
	rows := c.rows(ways)
	rows[0].more = rows[1:]
	return rows[0], nil
}

// The ways that have a target.
const (
	dockerByKustomize = "docker, through kustomize"
	imageByAuto       = "an image, by krmcat's default engine"
	execConfined      = "exec, confined"
	execUnconfined    = "exec, --confine off"
)

// The indexes of the programs without a function.
const (
	kustomizeAlone = iota
	krmcatAlone
)

// ways returns all ways to run a function.
func (c calls) ways(o options, dir string, docker []string, noDocker error) []way {
	cache := filepath.Join(dir, "cache")
	ours := func(what, where string, flags ...string) way {
		argv := slices.Concat([]string{o.krmcat, "render", "--enable-alpha-plugins", "--enable-exec"}, flags, []string{"."})
		return way{what: what, none: krmcatAlone, program: program{dir: filepath.Join(dir, where), argv: argv, cache: cache, env: docker}}
	}
	theirs := func(what, where string) way {
		return way{what: what, none: kustomizeAlone, program: program{
			dir: filepath.Join(dir, where), env: docker,
			argv: []string{o.kustomize, "build", "--enable-alpha-plugins", "--enable-exec", "."},
		}}
	}
	ways := []way{
		theirs(dockerByKustomize, "image"),
		ours("docker, through krmcat", "image", "--runtime", "docker"),
		ours(imageByAuto, "image"),
	}
	for i := range ways[:2] {
		ways[i].absent = noDocker
	}
	for _, name := range []string{"bwrap", "native"} {
		ways = append(ways, ours("an image, --runtime "+name, "image", "--runtime", name))
	}
	return append(ways,
		ours(execConfined, "exec"), ours(execUnconfined, "exec", "--confine", "off"), theirs("exec, through kustomize", "exec"))
}

// sameOutput runs every way once. It marks a way that does not run here. It fails if one prints
// another output than the others.
func sameOutput(ctx context.Context, ways []way) error {
	var want []byte
	for i := range ways {
		w := &ways[i]
		if w.absent != nil {
			continue
		}
		got, err := w.program.run(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			w.absent = err
			continue
		}
		if want == nil {
			want = got
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%w: %s", errDiffer, w.what)
		}
	}
	return nil
}

// marginal measures all ways that run here in turn, and sets the time of one call for each.
func marginal(ctx context.Context, rounds int, none []program, ways []way) error {
	programs := slices.Clone(none)
	var measured []int
	for i := range ways {
		if ways[i].absent == nil {
			measured = append(measured, i)
			programs = append(programs, ways[i].program)
		}
	}
	took, err := inTurn(ctx, rounds, programs...)
	if err != nil {
		return err
	}
	for n, i := range measured {
		ways[i].took = (took[len(none)+n] - took[ways[i].none]) / manyCalls
	}
	return nil
}

// rows returns the results as lines of the table, the two with a target first.
func (c calls) rows(ways []way) []row {
	of := map[string]way{}
	for _, w := range ways {
		of[w.what] = w
	}
	picked, docker := of[imageByAuto], of[dockerByKustomize]
	confined, unconfined := of[execConfined], of[execUnconfined]
	image := row{what: c.String() + ": a container image, compared with " + dockerByKustomize, krmcat: picked.cost(), neighbour: docker.cost()}
	image.target, image.missed = fmt.Sprintf("≥ %d", callsFaster), true
	if picked.absent == nil && docker.absent == nil {
		factor := docker.took.Seconds() / picked.took.Seconds()
		image.ratio, image.missed = fmt.Sprintf("%.1f times faster", factor), factor < callsFaster
	}
	program := row{what: c.String() + ": " + execConfined + ", compared with " + execUnconfined, krmcat: confined.cost(), neighbour: unconfined.cost()}
	program.target, program.missed = "< "+milliseconds(confinedWithin)+" more", true
	if confined.absent == nil && unconfined.absent == nil {
		more := confined.took - unconfined.took
		program.ratio, program.missed = milliseconds(more)+" more", more >= confinedWithin
	}
	out := []row{image, program}
	for _, w := range ways {
		r := row{what: c.String() + ": " + w.what, krmcat: w.cost()}
		if w.none == kustomizeAlone {
			r.krmcat, r.neighbour = "", w.cost()
		}
		out = append(out, r)
	}
	return out
}

// cost returns the time of a call, or why it was not measured.
func (w way) cost() string {
	if w.absent == nil {
		return milliseconds(w.took)
	}
	text, _, _ := strings.Cut(strings.ReplaceAll(w.absent.Error(), "|", "/"), "\n")
	return "**NOT MEASURED**: " + strings.ReplaceAll(text, os.TempDir(), "…")
}
