package starlark_test

import (
	"testing"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/fnexectest"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// scripts are the suite's behaviours as scripts.
func scripts() map[fnexectest.Behaviour]string {
	return map[fnexectest.Behaviour]string{
		fnexectest.Echo: "pass",
		fnexectest.Add: `
ctx.resource_list["items"].append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "added"}})`,
		fnexectest.Drop:  `ctx.resource_list["items"].pop(0)`,
		fnexectest.Clear: `ctx.resource_list["items"].clear()`,
		fnexectest.FailResults: `
ctx.resource_list["results"] = [{"message": "too old", "severity": "warning"}]
fail("no")`,
		fnexectest.Stderr: `print("a note")`,
		fnexectest.Flood: `
ctx.resource_list["items"].append({"kind": "ConfigMap", "data": {str(i): "x" * 1024 for i in range(4096)}})`,
		fnexectest.Hang: "while True:\n    pass",
		fnexectest.Environment: `
ctx.resource_list["items"].append({
    "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "environment"}, "data": ctx.environment})`,
	}
}

func inapplicable() map[fnexectest.Behaviour]string {
	return map[fnexectest.Behaviour]string{
		fnexectest.Silent:      "a script has no stdout: its list is always there",
		fnexectest.Deaf:        "a script has no stdin",
		fnexectest.Garbage:     "a script has no stdout: what is no list is refused before",
		fnexectest.FailGarbage: "a script has no stdout",
		fnexectest.Named:       "a script has no streams to open",
		fnexectest.Family:      "a script cannot start a process",
	}
}

func suiteRunner(t *testing.T, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
	t.Helper()
	p, err := starlark.New().Prepare(nil, fnexec.Site{Inline: true, Config: config(t, scripts()[b])})
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := verify.Verify(t.Context(), verify.Subject{Artifact: *p.Needs.Literal}, verify.UserFlag{Flag: "--test"})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := allow.Grant(p.Needs.Request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Load(t.Context(), trusted, grant)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSuite(t *testing.T) {
	t.Parallel()
	fnexectest.Run(t, fnexectest.Suite{Make: suiteRunner, Inapplicable: inapplicable()})
}

// bytesOnly hides that a Runner is a ListRunner.
type bytesOnly struct{ fnexec.Runner }

func TestSuiteOverBytes(t *testing.T) {
	t.Parallel()
	fnexectest.Run(t, fnexectest.Suite{
		Make: func(t *testing.T, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
			return bytesOnly{suiteRunner(t, b, allow)}
		},
		Inapplicable: inapplicable(),
	})
}
