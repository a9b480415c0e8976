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

// The bounds on a run. A loop does some ten million steps in a second: the timeout comes
// first, unless somebody lifts it.
const (
	maxSteps  = 20_000_000_000
	maxFrames = 5_000   // of the call stack
	maxGrowth = 2 << 30 // bytes by which the heap may grow
	lookEvery = 32      // steps between two looks at the stack and at the heap
	maxRange  = 10_000_000
	maxInput  = 256 << 20 // bytes, where the list comes as YAML
)

// grace is how long a cancelled script has to notice. One that sits in a builtin for
// longer is left behind.
const grace = 500 * time.Millisecond

// LimitError says that a script used more than it may.
type LimitError struct{ What string }

func (e *LimitError) Error() string { return "the script " + e.What }

// runner runs a compiled script. It holds nothing that a run changes.
type runner struct {
	growth      uint64 // bytes by which the heap may grow
	output      int64  // bytes of the strings that may be given back
	main        *program
	modules     map[string]*program
	environment []string // KEY=VALUE
}

var _ fnexec.ListRunner = (*runner)(nil)

// Run implements fnexec.Runner, for callers that have bytes.
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

// RunList implements fnexec.ListRunner. A script that fails is an *fnexec.ExitError with
// code 1; the list then holds its results, and the items as they were.
func (r *runner) RunList(ctx context.Context, list *fnexec.ResourceList, stderr io.Writer) error {
	g := &gate{w: stderr}
	defer g.close()
	thread := r.thread(g)
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

// outcome is what a run came to.
type outcome struct {
	items   []*yaml.RNode
	results *yaml.RNode
	fields  []string // of the list, whatever they hold
	err     error
}

// thread makes a thread that is bounded: the interpreter asks every so many steps.
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

// stoppedKey is where a thread keeps why it was stopped: what a script says with fail can
// look the same.
const stoppedKey = "krmcat.stopped"

func stop(t *starlark.Thread, why string) {
	t.SetLocal(stoppedKey, why)
	t.Cancel(why)
}

// heap watches how much is on the heap: of the whole process, there is no other measure.
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

// grownBy reports whether so much more is on the heap than at the start, garbage aside.
func (h *heap) grownBy(n uint64) bool {
	if h.size() <= h.start+n {
		return false
	}
	runtime.GC()
	return h.size() > h.start+n
}

// eval runs the script on a list, and does not change the list.
func (r *runner) eval(thread *starlark.Thread, in fnexec.ResourceList) outcome {
	c := newConverter(r.output)
	rl, err := c.resourceList(in)
	if err != nil {
		return outcome{err: fmt.Errorf("handing the resources to the script: %w", err)}
	}
	names := starlark.StringDict{
		"ctx": starlarkstruct.FromStringDict(starlark.String("ctx"), starlark.StringDict{
			"resource_list": rl,
			"open_api":      starlark.NewDict(0),
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
		_ = d.SetKey(starlark.String(k), starlark.String(v)) // a string has a hash
	}
	return d
}

// log is print under another name.
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

// boundedRange is the library's range, bounded: list(range(10**12)) is a single step,
// which nothing could interrupt.
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

// failed tells a script that said no from one that was stopped, and writes down where.
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
	_, _ = io.WriteString(stderr, eval.Backtrace()+"\n")
	detail := eval.Msg
	for i := range eval.CallStack {
		if pos := eval.CallStack.At(i).Pos; pos.IsValid() && pos.Line > 0 {
			detail = pos.String() + ": " + detail
			break
		}
	}
	return &fnexec.ExitError{Code: 1, Detail: detail, Err: err}
}

// gate passes writes on until it is closed: a script that was left behind is not heard
// any more.
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
