package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// program is a command line and its working directory.
type program struct {
	dir  string
	argv []string
	cold bool // krmcat runs without a cache, as the other program does
	// The following fields may be empty.
	cache string   // krmcat's cache directory; a directory next to dir if empty
	fresh string   // a directory that is emptied before each run
	env   []string // further variables, KEY=VALUE
}

// prepare does what is not measured.
func (p program) prepare() error {
	if p.fresh == "" {
		return nil
	}
	if err := os.RemoveAll(p.fresh); err != nil {
		return fmt.Errorf("emptying a directory: %w", err)
	}
	return os.MkdirAll(p.fresh, 0o755)
}

// run starts the program, waits for it, and returns its stdout.
func (p program) run(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &out, &errs
	cache := filepath.Join(p.dir, ".cache")
	switch {
	case p.cold:
		cache = filepath.Join(os.DevNull, "none") // nothing can be stored there
	case p.cache != "":
		cache = p.cache
	}
	cmd.Env = append(append(os.Environ(), "KRMCAT_CACHE_DIR="+cache), p.env...)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%q: %w: %s", p.argv, err, errs.Bytes())
	}
	return out.Bytes(), nil
}

// errDiffer reports that two programs print different output, so that they cannot be compared.
var errDiffer = errors.New("krmcat and kustomize print different bytes")

// A run that takes less than short is measured often times as many times: chance has a larger part
// in a shorter run.
const (
	short = time.Second
	often = 5
)

// inTurn measures programs one after the other in each round, in reverse order in every other
// round. The first round does not count. It returns the median of each program.
func inTurn(ctx context.Context, rounds int, programs ...program) ([]time.Duration, error) {
	took := make([][]time.Duration, len(programs))
	order := make([]int, len(programs))
	for i := range order {
		order[i] = i
	}
	begin := time.Now()
	for round := 0; round <= rounds; round++ {
		if round == 1 && time.Since(begin) < short {
			rounds *= often
		}
		slices.Reverse(order)
		for _, i := range order {
			if err := programs[i].prepare(); err != nil {
				return nil, err
			}
			start := time.Now()
			if _, err := programs[i].run(ctx); err != nil {
				return nil, err
			}
			if round > 0 {
				took[i] = append(took[i], time.Since(start))
			}
		}
	}
	medians := make([]time.Duration, len(programs))
	for i := range medians {
		medians[i] = median(took[i])
	}
	return medians, nil
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	if n := len(d); n%2 == 0 {
		return (d[n/2-1] + d[n/2]) / 2
	}
	return d[len(d)/2]
}

// row is a line of the table, with further lines of the same measurement.
type row struct {
	what, krmcat, neighbour, ratio, target string
	missed                                 bool
	more                                   []row // printed below it
}

func (r row) String() string {
	verdict := "ok"
	switch {
	case r.target == "":
		verdict = ""
	case r.missed:
		verdict = "**missed**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", r.what, r.krmcat, r.neighbour, r.ratio, r.target, verdict)
}

func milliseconds(d time.Duration) string {
	if d >= 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
}
