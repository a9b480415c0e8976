package exec_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/exec"
	"github.com/krmcat/krmcat/fnexec/fnexectest"
	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// asFunction is the first argument with which this test binary runs as a function.
const asFunction = "as-a-function"

// copying is a further behaviour: the least that a process can do.
const copying fnexectest.Behaviour = "copying"

func TestMain(m *testing.M) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	if len(os.Args) == 3 && os.Args[1] == asFunction {
		if os.Args[2] == string(copying) {
			_, err := io.Copy(os.Stdout, os.Stdin)
			if err != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
		os.Exit(fnexectest.Process(fnexectest.Behaviour(os.Args[2]), os.Stdin, os.Stdout, os.Stderr, startChild))
	}
	os.Exit(m.Run())
}

// startChild starts another process of this binary, in this process group, which holds stdout.
func startChild() error {
	_, err := os.StartProcess(os.Args[0], []string{os.Args[0], asFunction, string(fnexectest.Hang)},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	return err
}

func self(t testing.TB) string {
	t.Helper()
	p, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func node(t testing.TB, s string) *yaml.RNode {
	t.Helper()
	n, err := yaml.Parse(s)
	if err != nil {
		t.Fatalf("parsing %q: %v", s, err)
	}
	return n
}

// loadInPlace loads this test binary as a function that runs in place.
func loadInPlace(t testing.TB, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
	t.Helper()
	spec := node(t, "path: '"+filepath.ToSlash(self(t))+"'\nargs: ["+asFunction+", "+string(b)+"]\n")
	p, err := exec.New(exec.Options{}).Prepare(spec, fnexec.Site{Inline: true, Dir: t.TempDir(), Work: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Needs.InPlace || !p.Needs.Request.HostExec {
		t.Fatalf("got the needs %+v", p.Needs)
	}
	r, err := load(t, p, allow, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func load(t testing.TB, p fnexec.Prepared, allow sandbox.Allow, data []byte) (fnexec.Runner, error) {
	t.Helper()
	grant, err := allow.Grant(p.Needs.Request)
	if err != nil {
		return nil, err
	}
	artifact := registry.Artifact{From: p.Needs.From, Role: mediatypes.RoleExec}
	if p.Needs.Look != nil {
		if artifact.From, err = p.Needs.Look(t.Context(), grant); err != nil {
			return nil, err
		}
	}
	if !p.Needs.InPlace || data != nil {
		artifact = registry.Literal(artifact.From, mediatypes.RoleExec, "tool", data)
	}
	trusted, err := verify.Verify(t.Context(), verify.Subject{
		Artifact: artifact, Promised: p.Needs.Promised, Inner: p.Needs.Inner,
	}, verify.UserFlag{Flag: "--test"})
	if err != nil {
		return nil, err
	}
	return p.Load(t.Context(), trusted, grant)
}

func TestSuite(t *testing.T) {
	t.Parallel()
	fnexectest.Run(t, fnexectest.Suite{
		Make: func(t *testing.T, b fnexectest.Behaviour, allow sandbox.Allow) fnexec.Runner {
			return loadInPlace(t, b, allow)
		},
	})
}

func TestNotThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "beside"), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"no-such-tool-anywhere": `program "no-such-tool-anywhere" is not in PATH`,
		"beside":                `program "beside" is not in PATH; the one beside the config is ./beside`,
		"./missing":             "missing: no such file or directory",
	} {
		p, err := exec.New(exec.Options{}).Prepare(node(t, "path: "+path), fnexec.Site{Inline: true, Dir: dir, Work: dir})
		if err != nil {
			t.Fatal(err)
		}
		// The error comes before anything runs.
		if _, err = load(t, p, sandbox.Allow{Host: []string{"PATH=.:/usr/bin"}}, nil); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
