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

// program is a command line, and the directory it is run in.
type program struct {
	dir  string
	argv []string
	cold bool // krmcat has no cache: what is compared has none either
	// The rest may be empty.
	cache string   // where krmcat's cache is, beside dir otherwise
	fresh string   // a directory that is emptied before each run
	env   []string // KEY=VALUE, more of it
}

// prepare does what is no part of a run.
func (p program) prepare() error {
	if p.fresh == "" {
		return nil
	}
	if err := os.RemoveAll(p.fresh); err != nil {
		return fmt.Errorf("emptying a directory: %w", err)
	}
	return os.MkdirAll(p.fresh, 0o755)
}

// run starts the program and waits for it. Its stdout is returned.
func (p program) run(ctx context.Context) ([]byte, error) {
	cmd := exec.CommandContext(ctx, p.argv[0], p.argv[1:]...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &out, &errs
	cache := filepath.Join(p.dir, ".cache")
	switch {
	case p.cold:
		cache = filepath.Join(os.DevNull, "none") // nothing can be kept there
	case p.cache != "":
		cache = p.cache
	}
	cmd.Env = append(append(os.Environ(), "KRMCAT_CACHE_DIR="+cache), p.env...)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%q: %w: %s", p.argv, err, errs.Bytes())
	}
	return out.Bytes(), nil
}

// errDiffer says that two programs that are compared do not do the same.
var errDiffer = errors.New("krmcat and kustomize print different bytes")

// What takes less than short is measured so many times as often: the shorter it is, the
// more of it is chance.
const (
	short = time.Second
	often = 5
)

// inTurn measures programs, one after the other in each round and every other round in
// reverse, after a round that does not count. It returns the median of each.
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

// row is a line of the table.
type row struct {
	what, krmcat, neighbour, ratio, target string
	missed                                 bool
	more                                   []row // of the same run, below it
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
