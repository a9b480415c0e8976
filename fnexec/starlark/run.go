package starlark

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/bounded"
)

// The bounds on a run. A loop does some ten million steps per second, so that the default
// timeout comes before maxSteps.
const (
	maxSteps  = 20_000_000_000
	maxFrames = 5_000   // of the call stack
	maxGrowth = 2 << 30 // bytes by which the heap may grow
	lookEvery = 32      // steps between two checks of stack and heap
	maxRange  = 10_000_000
	maxInput  = 256 << 20 // bytes, if the list is given as YAML
)

// grace is how long a cancelled script may take to end. A script inside a builtin may take
// longer, and is left behind.
const grace = 500 * time.Millisecond

// LimitError reports that a script exceeded a limit.
type LimitError struct{ What string } // "took more than 100 steps"

// Error says which limit was exceeded.
func (e *LimitError) Error() string { return "the script " + e.What }

// runner runs a compiled script. No run changes it.
type runner struct {
	growth      uint64 // bytes by which the heap may grow
	output      int64  // bytes of the strings in the output
	main        *program
	modules     map[string]*program
	environment []string // KEY=VALUE
}

var _ fnexec.ListRunner = (*runner)(nil)

// Run implements fnexec.Runner for callers that have YAML.
func (r *runner) Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	data, err := bounded.Read(in, maxInput)
	if errors.Is(err, bounded.ErrMore) {
		return &LimitError{fmt.Sprintf("was given more than %d bytes", maxInput)}
	}
	if err != nil {
		return fmt.Errorf("reading the resource list: %w", err)
	}
	list, err := fnexec.Decode(data)
	if err != nil {
		return fmt.Errorf("reading the resource list: %w", err)
	}
	runErr := r.RunList(ctx, list, stderr)
	var exit *fnexec.ExitError
	if runErr != nil && !errors.As(runErr, &exit) {
		return runErr
	}
	if data, err = list.Encode(); err != nil {
		return errors.Join(runErr, err)
	}
	if _, err := out.Write(data); err != nil {
		return errors.Join(runErr, err)
	}
	return runErr
}

// RunList implements fnexec.ListRunner. If the script fails, the error is an *fnexec.ExitError
// with code 1; the list then has its results, and the items of the input.
func (r *runner) RunList(ctx context.Context, list *fnexec.ResourceList, stderr io.Writer) error {
	g := &gate{w: stderr}
	defer g.close()
	thread := r.thread(g)
	thread.SetLocal(endedKey, func() bool { return ctx.Err() != nil })
	in := *list
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if p := recover(); p != nil {
				o = outcome{err: fmt.Errorf("the Starlark interpreter stopped with an internal error: %v", p)}
			}
			done <- o
		}()
		o = r.eval(thread, in)
	}()
	var o outcome
	select {
	case o = <-done:
	case <-ctx.Done():
		thread.Cancel("the call has ended")
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
		return context.Cause(ctx)
	}
	list.Results = o.results
	for _, field := range o.fields {
		list.Beside(field)
	}
	if o.err != nil {
		return failed(thread, o.err, g)
	}
	list.Items = o.items
	return nil
}

// outcome is the result of a run.
type outcome struct {
	items   []*yaml.RNode
	results *yaml.RNode
	fields  []string // the names of the list's fields
	err     error
}

// thread returns a thread with bounds, which it checks every lookEvery steps.
func (r *runner) thread(stderr io.Writer) *starlark.Thread {
	t := &starlark.Thread{
		Name:  Kind,
		Print: func(_ *starlark.Thread, msg string) { _, _ = io.WriteString(stderr, msg+"\n") },
		Load:  (&modules{programs: r.modules}).load,
	}
	h := newHeap()
	t.SetMaxExecutionSteps(lookEvery)
	t.OnMaxSteps = func(t *starlark.Thread) {
		switch steps := t.ExecutionSteps(); {
		case steps >= maxSteps:
			stop(t, fmt.Sprintf("took more than %d steps", uint64(maxSteps)))
		case t.CallStackDepth() > maxFrames:
			stop(t, fmt.Sprintf("called itself more than %d deep", maxFrames))
		case h.grownBy(r.growth):
			stop(t, fmt.Sprintf("took more than %d bytes of memory", r.growth))
		default:
			t.SetMaxExecutionSteps(steps + lookEvery)
		}
	}
	return t
}

// stoppedKey is the thread-local key for why a thread was stopped. The text of an error could
// also come from fail().
const stoppedKey = "krmcat.stopped"

func stop(t *starlark.Thread, why string) {
	t.SetLocal(stoppedKey, why)
	t.Cancel(why)
}

// heap measures the heap of the process. There is no measure for a single script.
type heap struct {
	sample []metrics.Sample
	start  uint64
}

func newHeap() *heap {
	h := &heap{sample: []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}}
	h.start = h.size()
	return h
}

func (h *heap) size() uint64 {
	metrics.Read(h.sample)
	if h.sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return h.sample[0].Value.Uint64()
}

// grownBy reports whether the heap has grown by n bytes since the start, without garbage.
func (h *heap) grownBy(n uint64) bool {
	if h.size() <= h.start+n {
		return false
	}
	runtime.GC()
	return h.size() > h.start+n
}

// eval runs the script on a copy of a list.
func (r *runner) eval(thread *starlark.Thread, in fnexec.ResourceList) outcome {
	c := newConverter(r.output, len(in.Items))
	rl, err := c.resourceList(in)
	if err != nil {
		return outcome{err: fmt.Errorf("handing the resources to the script: %w", err)}
	}
	names := starlark.StringDict{
		"ctx": starlarkstruct.FromStringDict(starlark.String("ctx"), starlark.StringDict{
			"resource_list": rl,
			"open_api":      noSchema{},
			"environment":   environment(r.environment),
		}),
	}
	maps.Copy(names, boundedUniverse())
	maps.Copy(names, guards())
	thread.SetLocal(predeclaredKey, names)
	_, err = r.main.Init(thread, names)
	var o outcome
	results, resultsErr := c.results(rl)
	o.results = results
	for _, key := range rl.Keys() {
		if field, ok := starlark.AsString(key); ok {
			o.fields = append(o.fields, field)
		}
	}
	if err != nil {
		o.err = err
		return o
	}
	if resultsErr != nil {
		o.err = fmt.Errorf("taking the results from the script: %w", resultsErr)
		return o
	}
	if o.items, err = c.items(rl); err != nil {
		o.err = fmt.Errorf("taking the resources from the script: %w", err)
	}
	return o
}

func environment(env []string) *starlark.Dict {
	d := starlark.NewDict(len(env))
	for _, e := range env {
		k, v, _ := strings.Cut(e, "=")
		_ = d.SetKey(starlark.String(k), starlark.String(v)) // cannot fail: a string is hashable
	}
	return d
}

// log is print by another name.
func log(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	var words []string
	for _, a := range args {
		if s, ok := starlark.AsString(a); ok {
			words = append(words, s)
			continue
		}
		words = append(words, a.String())
	}
	t.Print(t, strings.Join(words, " "))
	return starlark.None, nil
}

// boundedRange is the library's range with a bound. list(range(10**12)) would be a single step,
// which cannot be interrupted.
func boundedRange(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, starlark.Universe["range"], args, kwargs)
	if err != nil {
		return nil, err
	}
	if s, ok := v.(starlark.Sequence); ok && s.Len() > maxRange {
		return nil, fmt.Errorf("range: it has more than %d elements", maxRange)
	}
	return v, nil
}

// failed returns the error of a script that failed or was stopped, and prints the backtrace if it
// failed in a function.
func failed(t *starlark.Thread, err error, stderr io.Writer) error {
	if why, ok := t.Local(stoppedKey).(string); ok {
		return &LimitError{why}
	}
	var limit *fnexec.OutputLimitError
	if errors.As(err, &limit) {
		return limit
	}
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		return &fnexec.ExitError{Code: 1, Detail: err.Error(), Err: err}
	}
	detail, frames := eval.Msg, 0
	for i := range eval.CallStack {
		if pos := eval.CallStack.At(i).Pos; pos.IsValid() && pos.Line > 0 {
			if frames++; frames == 1 {
				detail = pos.String() + ": " + detail
			}
		}
	}
	if frames > 1 { // one line alone is in the detail
		_, _ = io.WriteString(stderr, eval.Backtrace()+"\n")
	}
	// Its kind is dropped: what a module refused is the script's failure, not a refusal of krmcat's.
	return &fnexec.ExitError{Code: 1, Detail: detail, Err: errors.New(eval.Error())}
}

// gate passes writes on until it is closed, so that the output of a script that was left behind
// is dropped.
type gate struct {
	mu     sync.Mutex
	w      io.Writer
	closed bool
}

func (g *gate) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return len(p), nil
	}
	return g.w.Write(p)
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}
