package fnexectest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/fnexectest/behave"
	"github.com/krmcat/krmcat/sandbox"
)

// Behaviour says what a function of the suite does.
type Behaviour = behave.Behaviour

// The behaviours of package behave.
const (
	Echo        = behave.Echo
	Add         = behave.Add
	Drop        = behave.Drop
	Clear       = behave.Clear
	Silent      = behave.Silent
	Deaf        = behave.Deaf
	Garbage     = behave.Garbage
	FailResults = behave.FailResults
	FailGarbage = behave.FailGarbage
	Flood       = behave.Flood
	Stderr      = behave.Stderr
	Named       = behave.Named
	Hang        = behave.Hang
	Family      = behave.Family
	Environment = behave.Environment
)

// Process is behave.Process: a function of the suite as a program.
func Process(b Behaviour, stdin io.Reader, stdout, stderr io.Writer, child func() error) int {
	return behave.Process(b, stdin, stdout, stderr, child)
}

// AskedEnv is the variable that functions of the suite are given, as KEY=VALUE. Its value contains
// an =.
const AskedEnv = "ASKED=a=b"

// Suite describes a runtime under test.
type Suite struct {
	// Make loads a function with a behaviour and what the user allows.
	Make func(t *testing.T, b Behaviour, allow sandbox.Allow) fnexec.Runner
	// Inapplicable lists the behaviours that the runtime cannot have, with the reason.
	Inapplicable map[Behaviour]string
	// Slowness is how many times longer than a process a call may take. All waits are that much
	// longer. 0 means 1.
	Slowness int
	// Variables lists further variables of the environment that the runtime sets.
	Variables []string
}

// times returns a duration of the suite for this runtime.
func (s Suite) times(d time.Duration) time.Duration { return d * time.Duration(max(s.Slowness, 1)) }

// Run runs the suite.
func Run(t *testing.T, s Suite) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if why, ok := s.Inapplicable[c.does]; ok {
				if why == "" {
					t.Fatalf("%s is declared inapplicable without a reason", c.does)
				}
				t.Logf("does not apply: %s", why)
				return
			}
			c.check(t, s, s.Make(t, c.does, allow()))
		})
	}
}

func allow() sandbox.Allow {
	return sandbox.Allow{
		Host: []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "SECRET=hunter2", "KUSTOMIZE_PLUGIN_HOME=/plugins"},
		Env:  []string{AskedEnv, "SECRETS"},
	}
}

// testCase is one check of a function.
type testCase struct {
	name  string
	does  Behaviour
	check func(t *testing.T, s Suite, r fnexec.Runner)
}

func cases() []testCase {
	return []testCase{
		{"echo", Echo, checkEcho},
		{"add", Add, func(t *testing.T, _ Suite, r fnexec.Runner) {
			wantNames(t, r, items(t, 2), "item-0", "item-1", "added")
		}},
		{"drop", Drop, func(t *testing.T, _ Suite, r fnexec.Runner) { wantNames(t, r, items(t, 2), "item-1") }},
		{"empty in", Add, func(t *testing.T, _ Suite, r fnexec.Runner) { wantNames(t, r, nil, "added") }},
		{"empty in and out", Echo, func(t *testing.T, _ Suite, r fnexec.Runner) { wantNames(t, r, nil) }},
		{"empty out", Clear, func(t *testing.T, _ Suite, r fnexec.Runner) { wantNames(t, r, items(t, 2)) }},
		{"nothing out", Silent, checkSilent},
		{"does not read", Deaf, func(t *testing.T, _ Suite, r fnexec.Runner) { wantNames(t, r, big(t)) }},
		{"10 MB", Echo, checkBig},
		{"garbage out", Garbage, checkGarbage},
		{"exit 1 with results", FailResults, checkFailResults},
		{"exit 1 deferred", FailResults, checkDeferred},
		{"exit 1 with garbage", FailGarbage, checkFailGarbage},
		{"flood", Flood, checkFlood},
		{"stderr", Stderr, checkStderr},
		{"streams by name", Named, checkStderr},
		{"cancel", Hang, checkCancel},
		{"cancel with a child", Family, checkCancel},
		{"timeout", Hang, checkTimeout},
		{"timeout with a child", Family, checkTimeout},
		{"clean environment", Environment, checkEnvironment},
		{"twice the same", Add, checkTwice},
		{"at the same time", Add, checkConcurrent},
	}
}

func items(t *testing.T, n int) []*yaml.RNode {
	t.Helper()
	var out []*yaml.RNode
	for i := range n {
		out = append(out, parse(t, fmt.Sprintf(
			"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: item-%d\ndata:\n  on: \"yes\"\n  n: '1'\n", i)))
	}
	return out
}

// big returns ten megabytes in a few resources: more than a pipe holds.
func big(t *testing.T) []*yaml.RNode {
	t.Helper()
	out := items(t, 10)
	for _, i := range out {
		i.Field("data").Value.YNode().Content[1].Value = strings.Repeat("0123456789abcdef", 1<<16)
	}
	return out
}

func parse(t *testing.T, s string) *yaml.RNode {
	t.Helper()
	n, err := yaml.Parse(s)
	if err != nil {
		t.Fatalf("parsing %q: %v", s, err)
	}
	return n
}

func input(t *testing.T, in []*yaml.RNode) fnexec.Input {
	t.Helper()
	return fnexec.Input{
		Items:       in,
		Config:      parse(t, "apiVersion: example.com/v1\nkind: Test\nmetadata:\n  name: config\n"),
		Limits:      sandbox.Limits{Timeout: 5 * time.Minute}, // a busy machine with the race detector takes more than one minute
		NeedsOutput: true,
	}
}

func call(t *testing.T, r fnexec.Runner, in []*yaml.RNode) fnexec.Output {
	t.Helper()
	out, err := fnexec.Call(t.Context(), r, input(t, in))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func text(t *testing.T, in []*yaml.RNode) string {
	t.Helper()
	var b strings.Builder
	for _, i := range in {
		s, err := i.String()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("---\n" + s)
	}
	return b.String()
}

func wantNames(t *testing.T, r fnexec.Runner, in []*yaml.RNode, want ...string) {
	t.Helper()
	var got []string
	for _, i := range call(t, r, in).Items {
		got = append(got, i.GetName())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got the resources %q, want %q", got, want)
	}
}

func failed(t *testing.T, err error) *fnexec.FunctionError {
	t.Helper()
	var fe *fnexec.FunctionError
	if !errors.As(err, &fe) {
		t.Fatalf("got %v, want a FunctionError", err)
	}
	return fe
}

func checkEcho(t *testing.T, _ Suite, r fnexec.Runner) {
	want := text(t, items(t, 3))
	if got := text(t, call(t, r, items(t, 3)).Items); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func checkBig(t *testing.T, _ Suite, r fnexec.Runner) {
	want := text(t, big(t))
	if got := text(t, call(t, r, big(t)).Items); got != want {
		t.Errorf("got %d bytes, want %d, the same", len(got), len(want))
	}
}

func checkSilent(t *testing.T, _ Suite, r fnexec.Runner) {
	_, err := fnexec.Call(t.Context(), r, input(t, items(t, 1)))
	if !errors.Is(err, fnexec.ErrNoOutput) {
		t.Errorf("got %v, want ErrNoOutput", err)
	}
	in := input(t, items(t, 1))
	in.NeedsOutput = false
	if out, err := fnexec.Call(t.Context(), r, in); err != nil || out.Wrote || len(out.Items) > 0 {
		t.Errorf("where output is not needed: got %+v, %v", out, err)
	}
}

func checkGarbage(t *testing.T, _ Suite, r fnexec.Runner) {
	_, err := fnexec.Call(t.Context(), r, input(t, items(t, 1)))
	var oe *fnexec.OutputError
	if failed(t, err); !errors.As(err, &oe) || oe.Head == "" {
		t.Errorf("got %v, want an OutputError that quotes stdout", err)
	}
}

func checkFailResults(t *testing.T, _ Suite, r fnexec.Runner) {
	out, err := fnexec.Call(t.Context(), r, input(t, items(t, 1)))
	fe := failed(t, err)
	if fe.Exit != 1 || len(fe.Results) != 1 || fe.Results[0].Message != "too old" || fe.Results[0].Severity != fnexec.SeverityWarning {
		t.Errorf("got %+v", fe)
	}
	if len(out.Results) != 1 || out.Exit != 1 {
		t.Errorf("the output lost the results or the exit code: %+v", out)
	}
}

func checkDeferred(t *testing.T, _ Suite, r fnexec.Runner) {
	in := input(t, items(t, 1))
	in.DeferFailure = true
	out, err := fnexec.Call(t.Context(), r, in)
	if err != nil || out.Exit != 1 || len(out.Results) != 1 || out.Deferred == nil || out.Deferred.Exit != 1 {
		t.Errorf("got %+v, %v, want the failure in the output", out, err)
	}
}

func checkFailGarbage(t *testing.T, _ Suite, r fnexec.Runner) {
	_, err := fnexec.Call(t.Context(), r, input(t, items(t, 1)))
	var exit *fnexec.ExitError
	var oe *fnexec.OutputError
	if failed(t, err); !errors.As(err, &exit) || exit.Code != 1 || !errors.As(err, &oe) {
		t.Errorf("got %v, want both the exit code and what is wrong with stdout", err)
	}
}

func checkFlood(t *testing.T, _ Suite, r fnexec.Runner) {
	in := input(t, nil)
	in.Limits.Output = 1 << 20
	_, err := fnexec.Call(t.Context(), r, in)
	var limit *fnexec.OutputLimitError
	if failed(t, err); !errors.As(err, &limit) || limit.Limit != 1<<20 {
		t.Errorf("got %v, want an OutputLimitError", err)
	}
}

func checkStderr(t *testing.T, _ Suite, r fnexec.Runner) {
	if out := call(t, r, items(t, 1)); strings.ReplaceAll(out.Stderr, "\r", "") != "a note\n" || len(out.Items) != 1 {
		t.Errorf("got stderr %q and %d items", out.Stderr, len(out.Items))
	}
}

// patience is how long a cancelled call may take to return. One second is promised, children
// included. Five show that the call does not wait for anything else, and leave room for a busy
// machine.
const patience = 5 * time.Second

// aWhile is how long a function that never ends runs before it is cancelled.
const aWhile = 200 * time.Millisecond

func checkCancel(t *testing.T, s Suite, r fnexec.Runner) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := fnexec.Call(ctx, r, input(t, items(t, 1)))
		done <- err
	}()
	select {
	case err := <-done:
		cancel()
		t.Fatalf("it ended by itself: %v", err)
	case <-time.After(s.times(aWhile)): // it is running
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
	case <-time.After(s.times(patience)):
		t.Errorf("it still runs %s after it was cancelled", s.times(patience))
	}
}

func checkTimeout(t *testing.T, s Suite, r fnexec.Runner) {
	in := input(t, items(t, 1))
	in.Limits.Timeout = s.times(aWhile)
	done := make(chan error, 1)
	go func() {
		_, err := fnexec.Call(t.Context(), r, in)
		done <- err
	}()
	select {
	case err := <-done:
		var timeout *fnexec.TimeoutError
		if !errors.As(err, &timeout) {
			t.Errorf("got %v, want a TimeoutError", err)
		}
	case <-time.After(s.times(patience)):
		t.Error("it still runs")
	}
}

func checkEnvironment(t *testing.T, s Suite, r fnexec.Runner) {
	out := call(t, r, nil)
	if len(out.Items) != 1 {
		t.Fatalf("got %d items", len(out.Items))
	}
	env := out.Items[0].GetDataMap()
	if env["ASKED"] != "a=b" {
		t.Errorf("ASKED is %q", env["ASKED"])
	}
	for name := range env {
		switch strings.ToUpper(name) {
		case "PATH", "HOME", "TMPDIR", "LANG", "LOG_TO_STDERR", "STRUCTURED_RESULTS", "ASKED":
		case "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE", "PATHEXT":
		default:
			if !slices.Contains(s.Variables, name) {
				t.Errorf("it sees the variable %s", name)
			}
		}
	}
}

func checkTwice(t *testing.T, _ Suite, r fnexec.Runner) {
	first := text(t, call(t, r, items(t, 5)).Items)
	if second := text(t, call(t, r, items(t, 5)).Items); first != second {
		t.Errorf("first\n%s\nthen\n%s", first, second)
	}
}

func checkConcurrent(t *testing.T, _ Suite, r fnexec.Runner) {
	want := text(t, call(t, r, items(t, 5)).Items)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			if got := text(t, call(t, r, items(t, 5)).Items); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}
