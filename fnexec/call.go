package fnexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/sandbox"
)

// Input describes one call of a function.
type Input struct {
	Config *yaml.RNode   // functionConfig; nil for none; not changed
	Items  []*yaml.RNode // may be changed, and must not be used after the call
	// KeepComments copies comments and field order from input to output, for output that goes
	// where users or other functions see them.
	KeepComments bool
	// DeferFailure keeps a failure of the function itself from failing the call. It is in
	// Output.Deferred instead. A killed function and unreadable output still fail the call.
	DeferFailure bool
	// Validator means that the function changes nothing: a result without a severity is an
	// error then, and results of severity error fail the call.
	Validator bool
	FailOn    FailOn
	Limits    sandbox.Limits
	// NeedsOutput makes it an error if a successful function writes nothing to stdout. An empty
	// list is not nothing.
	NeedsOutput bool
}

// Output is the result of a call.
type Output struct {
	// Items are the resources that the function wrote, even if it failed and the failure is
	// deferred, as in kyaml. If such a function wrote nothing, they are the input.
	Items []*yaml.RNode
	// From has for each of Items the index in Input.Items of the resource that it was, by the id
	// that Call gave it; -1 for a new one. A resource without an id or with an unknown one is
	// new, as in kyaml. If a function copies an item with its id, both are that resource.
	From     []int
	Results  []Result
	Stderr   string         // the end of its stderr, at most Limits.Stderr bytes
	Exit     int            // exit code; unless it is 0 or deferred, the call failed
	Strange  []string       // warnings about fields that look misspelt, and about mended results
	Wrote    bool           // it wrote at least one document to stdout
	Deferred *FunctionError // the deferred failure; nil for none
	Took     time.Duration  // how long the call took
	// AddedItems is the number of resources in the output less that in the input. Resources in
	// lists count.
	AddedItems int
	Added      int64 // size of the output less that of the input, in bytes, approximate
}

// Call runs one function once. If the function fails, the error is a *FunctionError, and the
// Output holds what is known, such as its results. If ctx ends, the error is its cause.
func Call(ctx context.Context, r Runner, in Input) (Output, error) {
	tags, err := tagItems(in.Items)
	if err != nil {
		return Output{}, err
	}
	limits := in.Limits.OrDefault()
	c := &call{in: in, items: countItems(in.Items), tags: tags, stderr: &bounded.Tail{Max: limits.Stderr}}
	began := time.Now()
	list, runErr := c.run(ctx, r, limits)
	ran := time.Since(began)
	if err := context.Cause(ctx); err != nil {
		return Output{Stderr: tailOf(c.stderr)}, fmt.Errorf("running the function: %w", err)
	}
	out := Output{Stderr: tailOf(c.stderr), Wrote: list != nil, Added: c.added, Took: ran}
	deferred, failure := c.judge(list, runErr, &out)
	switch {
	case failure == nil:
		return out, nil
	case !deferred:
		return out, c.failed(out, failure)
	}
	out.Deferred = c.failed(out, failure)
	if !out.Wrote {
		err = c.giveBack(&out)
	}
	return out, err
}

// judge fills in the Output, and returns why the call failed; nil if it succeeded. deferred
// means that the failure can be deferred: the function itself failed, and nothing else is
// wrong. A killed function reported nothing, and unreadable output is lost data.
func (c *call) judge(list *ResourceList, runErr error, out *Output) (deferred bool, failure error) {
	var exit *ExitError
	if errors.As(runErr, &exit) {
		out.Exit = exit.Code
	}
	var problems []error
	switch {
	case list != nil:
		problems = c.finish(list, out)
	case c.reported != nil:
		c.readResults(c.reported, out)
	case runErr == nil && c.in.NeedsOutput:
		problems = append(problems, ErrNoOutput)
	}
	whole := len(problems) == 0
	if runErr != nil {
		problems = slices.Insert(problems, 0, runErr)
	}
	c.grade(out.Results, len(problems) > 0)
	rule := c.in.FailOn.of(c.in.Validator)
	if bad := rule.among(out.Results); len(problems) == 0 && len(bad) > 0 {
		problems = append(problems, &ResultsError{FailOn: rule, Results: bad})
		runErr = nil
	}
	return whole && c.in.DeferFailure && (runErr == nil || excused(runErr)), errors.Join(problems...)
}

// grade sets the default severity of results without one.
func (c *call) grade(results []Result, failed bool) {
	severity := SeverityInfo
	if failed || c.in.Validator {
		severity = SeverityError
	}
	for i := range results {
		if results[i].Severity == "" {
			results[i].Severity = severity
		}
	}
}

func (c *call) failed(out Output, why error) *FunctionError {
	return &FunctionError{Exit: out.Exit, Stderr: out.Stderr, Results: out.Results, Err: why}
}

// giveBack makes the items of the input those of the output.
func (c *call) giveBack(out *Output) error {
	from := make([]int, len(c.in.Items))
	for i, item := range c.in.Items {
		in, err := c.tags.untag(item.YNode())
		if err != nil {
			return fmt.Errorf("items[%d]: %w", i, err)
		}
		from[i] = in.at
	}
	out.Items, out.From = c.in.Items, from
	return nil
}

// call is the state of one Call.
type call struct {
	added  int64 // see Output
	items  int   // number of resources in the input
	in     Input
	tags   *tags
	stderr *bounded.Tail
	// reported has the results of an output whose items cannot be used; nil for none.
	reported *ResourceList
}

// excused reports whether deferFailure covers err: whether the function itself failed.
func excused(err error) bool {
	var exit *ExitError
	var out *OutputError
	return errors.As(err, &exit) && exit.Code > 0 && !errors.As(err, &out)
}

// run runs the function within its limits. The list is nil if there is no output, or none that
// can be read.
func (c *call) run(ctx context.Context, r Runner, limits sandbox.Limits) (*ResourceList, error) {
	ctx, stop := context.WithTimeoutCause(ctx, limits.Timeout, &TimeoutError{After: limits.Timeout})
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if lr, ok := r.(ListRunner); ok {
		return c.runList(ctx, lr, limits)
	}
	input := &ResourceList{Items: c.in.Items, FunctionConfig: c.in.Config}
	data, err := input.Encode()
	if err != nil {
		return nil, err
	}
	var tooMuch *OutputLimitError
	stdout := &bounded.Head{Max: limits.Output, Over: func() error {
		tooMuch = &OutputLimitError{Limit: limits.Output}
		cancel(tooMuch)
		return tooMuch
	}}
	runErr := r.Run(ctx, bytes.NewReader(data), stdout, c.stderr)
	if tooMuch != nil {
		return nil, tooMuch
	}
	if cause := context.Cause(ctx); cause != nil && runErr != nil {
		return nil, cause
	}
	c.added = int64(len(stdout.Bytes()) - len(data))
	list, err := decodeAfter(data, c.in.Items, stdout.Bytes())
	if errors.Is(err, ErrEmpty) {
		return nil, runErr
	}
	if err != nil {
		c.reported = list
		return nil, errors.Join(runErr, &OutputError{Err: err, Head: head(stdout.Bytes())})
	}
	return list, runErr
}

func (c *call) runList(ctx context.Context, r ListRunner, limits sandbox.Limits) (*ResourceList, error) {
	items, before := c.in.Items, limits.Output
	for _, item := range items {
		before = weigh(item.YNode(), before)
	}
	if c.in.KeepComments {
		// The originals are needed afterwards. The runner may change the items.
		items = make([]*yaml.RNode, len(c.in.Items))
		for i, item := range c.in.Items {
			items[i] = item.Copy()
		}
	}
	list := &ResourceList{Items: items, FunctionConfig: c.in.Config}
	err := r.RunList(ctx, list, c.stderr)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		return nil, cause
	}
	// The limit on output applies to a list that is never printed too, by its approximate size.
	left := limits.Output
	for _, item := range list.Items {
		left = weigh(item.YNode(), left)
	}
	c.added = before - left
	if !yaml.IsMissingOrNull(list.Results) {
		left = weigh(list.Results.YNode(), left)
	}
	if left < 0 {
		return nil, &OutputLimitError{Limit: limits.Output}
	}
	return list, err
}

// weigh subtracts the length of every text in a tree from left.
func weigh(n *yaml.Node, left int64) int64 {
	left -= int64(len(n.Value))
	for _, c := range n.Content {
		if left < 0 {
			break
		}
		left = weigh(c, left)
	}
	return left
}

// finish turns the output of the function into the result of the call.
func (c *call) finish(list *ResourceList, out *Output) []error {
	var problems []error
	c.readResults(list, out)
	n, most := countItems(list.Items), c.in.Limits.OrDefault().Items
	if n > most {
		return append(problems, &ItemLimitError{Limit: most, Got: n})
	}
	out.AddedItems = n - c.items
	var keys keyCount
	from := make([]int, len(list.Items))
	for i, item := range list.Items {
		err := keys.add(item.YNode())
		if err == nil {
			from[i], err = c.finishItem(item.YNode())
		}
		if err != nil {
			return append(problems, &OutputError{Err: fmt.Errorf("items[%d]: %w", i, err)})
		}
	}
	out.Items, out.From = list.Items, from
	return problems
}

// readResults sets the results of the output.
func (c *call) readResults(list *ResourceList, out *Output) {
	out.Results = decodeResults(list.Results, &list.ignored)
	out.Strange = list.ignored.warnings()
}

// countItems counts resources as kustomize does after it has expanded lists, and lists in lists.
// An empty list counts as one resource.
func countItems(items []*yaml.RNode) int {
	n := 0
	for _, item := range items {
		n += countItem(item.YNode())
	}
	return n
}

func countItem(item *yaml.Node) int {
	kind := yamldoc.Field(item, "kind")
	if kind == nil || !strings.HasSuffix(kind.Value, "List") {
		return 1
	}
	list := yamldoc.Field(item, "items")
	if list == nil || list.Kind != yaml.SequenceNode {
		return 1
	}
	n := 0
	for _, one := range list.Content {
		n += countItem(one)
	}
	return max(1, n)
}

// finishItem returns the index of the item on input; -1 for a new one.
func (c *call) finishItem(n *yaml.Node) (from int, err error) {
	in, err := c.tags.untag(n)
	if err != nil {
		return -1, err
	}
	if in.item != nil && in.item != n && c.in.KeepComments {
		keepComments(in.item, n)
	}
	return in.at, nil
}

// headSize is how many bytes of stdout an error quotes.
const headSize = 80

func head(stdout []byte) string {
	b := bytes.TrimSpace(stdout)
	if len(b) > headSize {
		b = b[:headSize]
	}
	return string(bytes.ToValidUTF8(b, nil))
}
