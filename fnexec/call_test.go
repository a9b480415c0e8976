package fnexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/sandbox"
)

func cm(name string, annotations ...string) string {
	s := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
	if len(annotations) > 0 {
		s += "  annotations:\n"
		for i := 0; i < len(annotations); i += 2 {
			s += "    " + annotations[i] + ": '" + annotations[i+1] + "'\n"
		}
	}
	return s
}

func TestWire(t *testing.T) {
	t.Parallel()
	var got string
	r := runnerFunc(func(_ context.Context, in io.Reader, out, _ io.Writer) error {
		b, err := io.ReadAll(in)
		got = string(b)
		_, _ = out.Write(b)
		return err
	})
	out, err := fnexec.Call(t.Context(), r, fnexec.Input{
		Config: node(t, "apiVersion: example.com/v1\nkind: Set\nspec:\n  a: 1\n"),
		Items:  nodes(t, cm("a"), "kind: Bare\napiVersion: v1\nlist:\n- x\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: a
    annotations:
      internal.config.kubernetes.io/id: '1'
      config.k8s.io/id: '1'
- kind: Bare
  apiVersion: v1
  list:
  - x
  metadata:
    annotations:
      internal.config.kubernetes.io/id: '2'
      config.k8s.io/id: '2'
functionConfig:
  apiVersion: example.com/v1
  kind: Set
  spec:
    a: 1
`
	if got != want {
		t.Errorf("the function was given\n%s\nwant\n%s", got, want)
	}
	if got, want := text(t, out.Items), cm("a")+"---\nkind: Bare\napiVersion: v1\nlist:\n- x\n"; got != want {
		t.Errorf("got back\n%s\nwant\n%s", got, want)
	}
}

func TestAcceptedOutputs(t *testing.T) {
	t.Parallel()
	a, b := cm("a"), cm("b")
	indent := func(s string) string {
		return "- " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n  ") + "\n"
	}
	both := a + "---\n" + b
	for name, c := range map[string]struct{ stdout, want string }{
		"v1":                    {"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" + indent(a) + indent(b), both},
		"v1beta1":               {"apiVersion: config.kubernetes.io/v1beta1\nkind: ResourceList\nitems:\n" + indent(a), a},
		"v1alpha1":              {"apiVersion: config.kubernetes.io/v1alpha1\nkind: ResourceList\nitems:\n" + indent(a), a},
		"List":                  {"apiVersion: v1\nkind: List\nitems:\n" + indent(a) + indent(b), both},
		"bare documents":        {a + "---\n" + b, both},
		"document markers":      {"---\n" + a + "...\n---\t\n" + b + "---\n", both},
		"one bare document":     {b, b},
		"CRLF lines":            {strings.ReplaceAll(a+"---\n"+b, "\n", "\r\n"), both},
		"byte order mark":       {"\uFEFF" + a, a},
		"json":                  {`{"apiVersion":"config.kubernetes.io/v1","kind":"ResourceList","items":[]}`, ""},
		"json, escapes":         {`{"apiVersion":"v1","kind":"A","a":"\ud83d\ude00","b":"x\/y"}`, "{\"apiVersion\": \"v1\", \"kind\": \"A\", \"a\": \"\\U0001F600\", \"b\": \"x/y\"}\n"},
		"json, line breaks":     {"{\"apiVersion\":\"v1\",\"kind\":\"A\",\"a\":\"\u2028\u0085\"}", "{\"apiVersion\": \"v1\", \"kind\": \"A\", \"a\": \"\\L\\N\"}\n"},
		"json, tabs":            {"---\n{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"A\"\n}\n", "{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n"},
		"null items":            {"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: null\n", ""},
		"no items":              {"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n", ""},
		"empty items":           {"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n", ""},
		"no items, but results": {"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nresults: []\n", ""},
		"aliases":               {"apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: a}\ncopy: *m\nmerged: {<<: *m, x: 1}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ncopy: {name: a}\nmerged: {x: 1, name: a}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := fnexec.Call(t.Context(), says(c.stdout), fnexec.Input{NeedsOutput: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, out.Items); got != c.want || !out.Wrote {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// bomb is a document with aliases for ten to the ninth values.
func bomb() string {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nkind: Bomb\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := '1'; i <= '9'; i++ {
		b.WriteString("a" + string(i) + ": &a" + string(i) + " [" + strings.Repeat("*a"+string(i-1)+", ", 9) + "*a" + string(i-1) + "]\n")
	}
	return b.String()
}

func TestRefusedOutputs(t *testing.T) {
	t.Parallel()
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
	for name, c := range map[string]struct{ stdout, want string }{
		"words":                        {"hello there", "neither a ResourceList nor a resource"},
		"broken":                       {"a: [1", "line"},
		"a list":                       {"- a\n- b\n", "neither a ResourceList nor a resource"},
		"no kind":                      {"a: b\n", "has no kind"},
		"an item without kind":         {list + "items:\n- a: b\n", "items[0] has no kind"},
		"a scalar item":                {list + "items:\n- x\n", "line 4: items[0] is not a mapping"},
		"items is a mapping":           {list + "items: {}\n", "items is not a list"},
		"unknown version":              {"apiVersion: config.kubernetes.io/v7\nkind: ResourceList\nitems: []\n", "unknown apiVersion"},
		"a list among other documents": {cm("a") + "---\n" + list + "items: []\n", "document 2"},
		"malformed second document":    {cm("a") + "---\n{", "begins on line 5"},
		"key twice":                    {cm("a") + "kind: Secret\n", `"kind" is written twice`},
		"alias bomb":                   {bomb(), "aliases stand for too much"},
		"contains itself":              {"apiVersion: v1\nkind: A\na: &a [*a]\n", "inside its own anchor"},
		"too deep":                     {"apiVersion: v1\nkind: A\na: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "deep"},
		"too many values":              {cm("a") + "x:" + strings.Repeat("\r- x", 8_000_001), "more than"},
		"metadata is a list":           {list + "items:\n- {kind: A, metadata: {annotations: []}}\n- 3\n", "items[1] is not a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fnexec.Call(t.Context(), says(c.stdout), fnexec.Input{})
			var fe *fnexec.FunctionError
			var oe *fnexec.OutputError
			if !errors.As(err, &fe) || !errors.As(err, &oe) || !strings.Contains(err.Error(), c.want) || failure.Of(err) != failure.Function {
				t.Errorf("got %v (%s), want an OutputError with %q", err, failure.Of(err), c.want)
			}
		})
	}
}

func TestBothErrors(t *testing.T) {
	t.Parallel()
	r := runnerFunc(func(_ context.Context, _ io.Reader, out, stderr io.Writer) error {
		_, _ = io.WriteString(out, "oops: [")
		_, _ = io.WriteString(stderr, "it broke\nbadly\n")
		return &fnexec.ExitError{Code: 3}
	})
	_, err := fnexec.Call(t.Context(), r, fnexec.Input{})
	var fe *fnexec.FunctionError
	if !errors.As(err, &fe) {
		t.Fatalf("got %v", err)
	}
	fe.Title = "exec tool"
	for _, want := range []string{"exec tool: ", "exit code 3", "cannot be used", `"oops: ["`, "stderr: it broke\n  badly"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestKeepComments(t *testing.T) {
	t.Parallel()
	in := "# head\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # the name\ndata:\n  x: y\n"
	// Sorted and without comments, as many functions print.
	list := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  data: {x: z}\n  kind: ConfigMap\n  metadata: {annotations: {internal.config.kubernetes.io/id: '1'}, name: a}\n"
	out, err := fnexec.Call(t.Context(), says(list), fnexec.Input{Items: nodes(t, in), KeepComments: true})
	if err != nil {
		t.Fatal(err)
	}
	got := text(t, out.Items)
	for _, want := range []string{"# head\napiVersion", "# the name"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.Index(got, "kind:") > strings.Index(got, "data:") {
		t.Errorf("the order of fields is lost:\n%s", got)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	hang := runnerFunc(func(ctx context.Context, _ io.Reader, _, stderr io.Writer) error {
		_, _ = io.WriteString(stderr, strings.Repeat("0123456789\n", 100))
		<-ctx.Done()
		return ctx.Err()
	})
	out, err := fnexec.Call(t.Context(), hang, fnexec.Input{Limits: sandbox.Limits{Timeout: 1, Stderr: 50}})
	var timeout *fnexec.TimeoutError
	if !errors.As(err, &timeout) || timeout.After != 1 {
		t.Errorf("got %v", err)
	}
	if got := strings.Count(out.Stderr, "0123456789\n"); got != 4 || !strings.HasPrefix(out.Stderr, "[…]") {
		t.Errorf("got the tail %q", out.Stderr)
	}
}

func TestInputItemsAreChecked(t *testing.T) {
	t.Parallel()
	for _, in := range []*yaml.RNode{
		node(t, "[a]"), node(t, "kind: A\nmetadata: x\n"), node(t, "kind: A\nmetadata: {annotations: [x]}\n"), yaml.NewRNode(nil),
	} {
		if _, err := fnexec.Call(t.Context(), echo(), fnexec.Input{Items: []*yaml.RNode{in}}); err == nil {
			t.Error("a malformed item was accepted")
		}
	}
	aliased := node(t, "apiVersion: v1\nkind: A\nx: &m\n  name: a\nmetadata: *m\n")
	out, err := fnexec.Call(t.Context(), echo(), fnexec.Input{Items: []*yaml.RNode{aliased}})
	if err != nil || out.Items[0].GetName() != "a" {
		t.Errorf("got %v", err)
	}
}

// TestLargeList prints many batches concurrently.
func TestLargeList(t *testing.T) {
	t.Parallel()
	var items []*yaml.RNode
	var want strings.Builder
	for i := range 1000 {
		n := node(t, deployment(i))
		n.YNode().HeadComment = "# comment"
		items = append(items, n)
		want.WriteString("---\n" + deployment(i))
	}
	config := node(t, "apiVersion: example.com/v1\nkind: Copy\n")
	out, err := fnexec.Call(t.Context(), echo(), fnexec.Input{Items: items, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range out.Items {
		i.YNode().HeadComment = ""
	}
	// Style and order are kept too.
	if got := text(t, out.Items); strings.ReplaceAll(got, "# comment\n", "") != strings.TrimPrefix(want.String(), "---\n") {
		t.Error("a large list does not come back as it went")
	}
}

// TestLargeBroken has an error in the middle of a large list.
func TestLargeBroken(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n")
	for i := range 500 {
		b.WriteString("- " + strings.ReplaceAll(strings.TrimSuffix(deployment(i), "\n"), "\n", "\n  ") + "\n")
	}
	good := b.String()
	if _, err := fnexec.Decode([]byte(good)); err != nil {
		t.Fatal(err)
	}
	half := len(good)/2 + strings.Index(good[len(good)/2:], "\n- ") + 1
	for name, bad := range map[string]string{
		"unterminated quote":   good[:half] + "- \"x\n" + good[half:],
		"unterminated bracket": good[:half] + "- [\n" + good[half:],
		"scalar item":          good[:half] + "- x\n" + good[half:],
		"a second items":       good + "items: []\n",
		"next document":        good + "---\n" + cm("a"),
		"dedented":             good[:half] + "x\n" + good[half:],
		"unknown alias":        good[:half] + "- *x\n" + good[half:],
		"null item":            good[:half] + "- \n" + good[half:],
	} {
		if _, err := fnexec.Decode([]byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestItemsInsideQuotes has text like a list of items inside a string. Code that reads a list
// line by line must not take it for one.
func TestItemsInsideQuotes(t *testing.T) {
	t.Parallel()
	quoted := "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nx: \"\nitems:\n" + strings.Repeat("- kind: A\n", 20_000) + "\"\n"
	none, err := fnexec.Decode([]byte(quoted))
	if err != nil || len(none.Items) > 0 {
		t.Errorf("got %v, %v", none, err)
	}
	list, err := fnexec.Decode([]byte(quoted + "items: [{kind: Real}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != 1 || list.Items[0].GetKind() != "Real" {
		t.Errorf("got %d items", len(list.Items))
	}
}

// exits returns a Runner that writes a text and exits with a code, whatever its input.
func exits(code int, stdout string) fnexec.Runner {
	return runnerFunc(func(_ context.Context, _ io.Reader, out, _ io.Writer) error {
		_, err := io.WriteString(out, stdout)
		return errors.Join(err, &fnexec.ExitError{Code: code})
	})
}

// TestDeferredFailure checks which failures are deferred, and which are not.
func TestDeferredFailure(t *testing.T) {
	t.Parallel()
	const given, made = "given", "made"
	for name, c := range map[string]struct {
		code   int
		stdout string
		needs  bool
		next   string           // the input of the next function, if the failure is deferred
		want   func(error) bool // the error, if it is not
	}{
		"a list":               {1, cm(made), true, made, nil},
		"a list, validator":    {1, cm(made), false, made, nil},
		"an empty list":        {1, resourceList("items: []"), true, "", nil},
		"nothing":              {1, "", true, given, nil},
		"nothing, validator":   {1, "", false, given, nil},
		"garbage":              {1, "a: [", true, "", func(err error) bool { return errors.As(err, new(*fnexec.OutputError)) }},
		"malformed, validator": {1, "a: [", false, "", func(err error) bool { return errors.As(err, new(*fnexec.OutputError)) }},
		"killed":               {-1, cm(made), true, "", func(err error) bool { return errors.As(err, new(*fnexec.ExitError)) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := fnexec.Input{Items: nodes(t, cm(given)), DeferFailure: true, NeedsOutput: c.needs}
			before := text(t, nodes(t, cm(given)))
			out, err := fnexec.Call(t.Context(), exits(c.code, c.stdout), in)
			if out.Exit != c.code {
				t.Errorf("got exit code %d, want %d", out.Exit, c.code)
			}
			if c.want != nil {
				if !c.want(err) || out.Deferred != nil {
					t.Errorf("got %v, and deferred %v", err, out.Deferred)
				}
				return
			}
			if err != nil || out.Deferred == nil || !errors.As(out.Deferred, new(*fnexec.ExitError)) {
				t.Fatalf("got %v, and deferred %v", err, out.Deferred)
			}
			var names []string
			for _, n := range out.Items {
				names = append(names, n.GetName())
			}
			if got := strings.Join(names, " "); got != c.next {
				t.Errorf("the next function sees %q, want %q", got, c.next)
			}
			if c.next == given && text(t, out.Items) != before {
				t.Errorf("what was given was changed: %s", text(t, out.Items))
			}
		})
	}
}

func resourceList(fields string) string {
	return "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n" + fields + "\n"
}

// TestFailOn checks what the results of a function of each role lead to.
func TestFailOn(t *testing.T) {
	t.Parallel()
	const (
		fails = "fails"
		waits = "waits" // deferred
		fine  = "fine"
	)
	for _, c := range []struct {
		severity  string
		code      int
		validator bool
		failOn    fnexec.FailOn
		want      string
		as        string // the severity that the result gets
	}{
		// Without the flag: a validator that reports an error fails.
		{"error", 0, true, "", fails, "error"},
		{"Error", 0, true, "", fails, "error"},
		{"", 0, true, "", fails, "error"},
		{"fatal", 0, true, "", fails, "fatal"},
		{"warning", 0, true, "", fine, "warning"},
		{"warn", 0, true, "", fine, "warning"},
		{"info", 0, true, "", fine, "info"},
		{"info", 1, true, "", fails, "info"},
		// For other roles the exit code decides.
		{"error", 0, false, "", fine, "error"},
		{"", 0, false, "", fine, "info"},
		{"fatal", 0, false, "", fine, "fatal"},
		{"", 1, false, "", fails, "error"},
		{"info", 1, false, "", fails, "info"},
		// With the flag, it applies to all roles.
		{"error", 0, false, fnexec.FailOnError, fails, "error"},
		{"fatal", 0, false, fnexec.FailOnError, fails, "fatal"},
		{"", 0, false, fnexec.FailOnError, fine, "info"},
		{"warn", 0, false, fnexec.FailOnError, fine, "warning"},
		{"warn", 0, false, fnexec.FailOnWarning, fails, "warning"},
		{"warn", 0, true, fnexec.FailOnWarning, fails, "warning"},
		{"info", 0, true, fnexec.FailOnWarning, fine, "info"},
		{"error", 0, true, fnexec.FailOnNever, fine, "error"},
		{"", 0, true, fnexec.FailOnNever, fine, "error"},
		// It applies to results, not to the exit code.
		{"info", 1, true, fnexec.FailOnNever, fails, "info"},
		{"error", 1, false, fnexec.FailOnNever, fails, "error"},
		{"error", -1, false, fnexec.FailOnNever, fails, "error"},
	} {
		for _, deferred := range []bool{false, true} {
			name := fmt.Sprintf("%q/%d/validator=%t/failOn=%s/deferred=%t", c.severity, c.code, c.validator, c.failOn, deferred)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				run := exits(c.code, resourceList("items: []\nresults: [{message: m, severity: '"+c.severity+"'}]"))
				if c.code == 0 {
					run = says(resourceList("items: []\nresults: [{message: m, severity: '" + c.severity + "'}]"))
				}
				out, err := fnexec.Call(t.Context(), run, fnexec.Input{Validator: c.validator, FailOn: c.failOn, DeferFailure: deferred})
				got := fine
				switch {
				case err != nil:
					got = fails
				case out.Deferred != nil:
					got = waits
				}
				want := c.want
				if want == fails && deferred && c.code >= 0 {
					want = waits
				}
				if got != want {
					t.Errorf("it %s, want %s: %v", got, want, err)
				}
				if len(out.Results) != 1 || out.Results[0].Severity != c.as {
					t.Errorf("results %+v, want severity %s", out.Results, c.as)
				}
			})
		}
	}
}

// TestFailOnSays checks that the error shows the results that made the call fail, and no others.
func TestFailOnSays(t *testing.T) {
	t.Parallel()
	const results = "results: [{message: bad, severity: error}, {message: odd, severity: fatal}, {message: so so, severity: warning}, {message: good, severity: info}]"
	for failOn, want := range map[fnexec.FailOn]string{
		fnexec.FailOnError:   "the function failed: exit code 0, and it reported 2 errors\n  [error]: bad\n  [fatal]: odd",
		fnexec.FailOnWarning: "the function failed: exit code 0, and it reported 2 errors and 1 warning\n  [error]: bad\n  [fatal]: odd\n  [warning]: so so",
	} {
		_, err := fnexec.Call(t.Context(), says(resourceList("items: []\n"+results)), fnexec.Input{FailOn: failOn})
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// TestKeepCommentsOfEntries checks which comments of an item come back when a function prints it
// without them, or with some of them.
func TestKeepCommentsOfEntries(t *testing.T) {
	t.Parallel()
	const id = "metadata:\n  name: a\n  annotations:\n    config.k8s.io/id: '1'\n"
	for name, c := range map[string]struct{ in, out, want string }{
		"entries with names": {
			"list:\n- name: a # one\n  x: 1\n# above b\n- name: b\n  x: 2 # two\n", "list:\n- x: 3\n  name: b\n- name: new\n- name: a\n",
			"list:\n# above b\n- name: b\n  x: 3 # two\n- name: new\n- name: a # one\n",
		},
		"texts":                 {"list:\n- a # one\n- b # two\n- a # three\n", "list: [c, a, b, a]\n", "list: [c, a, # one\n  b, # two\n  a, # three\n]\n"},
		"texts in lines":        {"list:\n- a # one\n- b # two\n- a # three\n", "list:\n- c\n- a\n- b\n- a\n", "list:\n- c\n- a # one\n- b # two\n- a # three\n"},
		"entries without names": {"list:\n- x: 1 # one\n- y: 2 # two\n", "list:\n- x: 5\n- y: 6\n", "list:\n- x: 5 # one\n- y: 6 # two\n"},
		"one more":              {"list:\n- x: 1 # one\n", "list:\n- x: 5\n- x: 6\n", "list:\n- x: 5\n- x: 6\n"},
		"changed":               {"data: # all\n  x: 1 # kpt-set: ${x}\n", "data:\n  x: 2 # kpt-set: ${y}\n", "data: # all\n  x: 2 # kpt-set: ${y}\n"},
		"moved by the function": {"# lic\ndata:\n  x: 1\n", "data:\n  # lic\n  x: 1\n", "data:\n  # lic\n  x: 1\n"},
		"below":                 {"data:\n  x: 1\n  # below\n", "data: {x: 1}\n", "data: {x: 1,\n  # below\n}\n"},
		"the order of fields":   {"b: 1\na: 2\nc: 3\n", "a: 2\nnew: 0\nb: 1\n", "b: 1\na: 2\n"},
		"a text in lines":       {"x: | # why\n  a\ny: 1 # z\n", "y: 1\nx: |\n  a\n", "x: |\n  a\ny: 1 # z\n"},
		"a list for a mapping":  {"x: # why\n  a: 1 # b\n", "x:\n- a: 1\n", "x: # why\n- a: 1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := fnexec.Input{Items: nodes(t, c.in+"kind: A\n"+strings.SplitAfter(id, "a\n")[0]), KeepComments: true}
			out, err := fnexec.Call(t.Context(), says(c.out+"kind: A\n"+id), in)
			if err != nil {
				t.Fatal(err)
			}
			got, _, _ := strings.Cut(text(t, out.Items), "kind: A\n")
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if again := nodes(t, text(t, out.Items)); text(t, again) != text(t, out.Items) {
				t.Errorf("printing it again changes it: %s", text(t, again))
			}
		})
	}
}
