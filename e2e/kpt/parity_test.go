package kpt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/e2e/internal/program"
)

// byKrmcat renders the package with krmcat, and returns what it did.
func (g golden) byKrmcat(t *testing.T, dir, programs string) outcome {
	t.Helper()
	before := snapshot(t, dir)
	args := []string{"render", "in", "--results-dir", "results"}
	if !g.noExec {
		args = append(args, "--allow-exec")
	}
	if len(g.args) == 0 {
		args = append(args, "--in-place")
	}
	cmd := program.Command(t.Context(), t, append(args, g.args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+programs, "MINE=of the user", "XDG_CONFIG_HOME="+programs)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	exit := "0\n"
	if err := cmd.Run(); err != nil {
		var failed *exec.ExitError
		if !errors.As(err, &failed) {
			t.Fatal(err)
		}
		exit = "1\n" // kpt has no other exit code
	}
	return collect(t, dir, before, outcome{Exit: exit, Stdout: stdout.String(), Stderr: stderr.String()})
}

// state is the files of a package after a render.
func (g golden) state(changed map[string]string) map[string]string {
	files := map[string]string{}
	for _, f := range g.in {
		if !strings.Contains(f.Name, " -> ") {
			files[f.Name] = string(f.Data)
		}
	}
	for name, text := range changed {
		if text == gone {
			delete(files, name)
		} else if !strings.HasPrefix(text, "-> ") {
			files[name] = text
		}
	}
	return files
}

// data returns what files say, without their layout. Of the status, the texts of errors are left
// out: they are each tool's own.
func data(t *testing.T, files map[string]string) map[string]any {
	t.Helper()
	all := map[string]any{}
	for name, text := range files {
		var docs []any
		for dec := yaml.NewDecoder(strings.NewReader(text)); isResourceFile(name); {
			var v any
			err := dec.Decode(&v)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				docs = append(docs, text)
				break
			}
			if v != nil {
				docs = append(docs, v)
			}
		}
		if len(docs) == 0 {
			all[name] = text
			continue
		}
		if name == "in/Kptfile" {
			docs[0] = asKptWrites(withoutTexts(docs[0]))
		}
		all[name] = docs
	}
	return all
}

func isResourceFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".txt"}, filepath.Ext(name)) || filepath.Base(name) == "Kptfile"
}

// withoutTexts removes the texts of errors from a status.
func withoutTexts(kptfile any) any {
	k, _ := kptfile.(map[string]any)
	status, _ := k["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == "Rendered" {
			delete(c, "message")
		}
	}
	calls, _ := status["renderStatus"].(map[string]any)
	delete(calls, "errorSummary")
	for _, list := range []string{"mutationSteps", "validationSteps"} {
		steps, _ := calls[list].([]any)
		for _, s := range steps {
			if s, ok := s.(map[string]any); ok {
				delete(s, "executionError")
				delete(s, "stderr") // see saw
			}
		}
	}
	return k
}

// asKptWrites gives a Kptfile the form in which kpt writes it: the values of a configMap are texts,
// and there are no empty lists and mappings.
func asKptWrites(kptfile any) any {
	k, _ := kptfile.(map[string]any)
	pipeline, _ := k["pipeline"].(map[string]any)
	for _, list := range []string{"mutators", "validators"} {
		functions, _ := pipeline[list].([]any)
		if len(functions) == 0 {
			delete(pipeline, list)
		}
		for _, f := range functions {
			f, _ := f.(map[string]any)
			pairs, _ := f["configMap"].(map[string]any)
			for key, value := range pairs {
				pairs[key] = strings.TrimSuffix(fmt.Sprint(value), "<nil>")
			}
			if len(pairs) == 0 {
				delete(f, "configMap")
			}
		}
	}
	return k
}

// results returns what results.yaml says of each call, nil if there is none: kpt leaves out calls
// whose output it refuses. What a function wrote on stderr is in the status too: see saw.
func results(t *testing.T, text string) []any {
	t.Helper()
	var list map[string]any
	if err := yaml.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	items, _ := list["items"].([]any)
	for _, one := range items {
		if one, ok := one.(map[string]any); ok {
			delete(one, "stderr")
		}
	}
	return items
}

// saw returns what the functions wrote on stderr: in these packages what they saw.
func saw(files map[string]string) string {
	var k struct {
		Status struct {
			RenderStatus map[string][]struct {
				Stderr string `yaml:"stderr"`
			} `yaml:"renderStatus"`
		} `yaml:"status"`
	}
	text, _, _ := strings.Cut(files["in/Kptfile"], "    errorSummary:")
	if err := yaml.Unmarshal([]byte(text), &k); err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, list := range []string{"mutationSteps", "validationSteps"} {
		for _, call := range k.Status.RenderStatus[list] {
			b.WriteString(call.Stderr + "--\n")
		}
	}
	return b.String()
}

// The headings of docs/kpt.md over the lists of packages that differ.
const (
	otherResults = "Other results"
	otherLayout  = "Another layout"
	otherViews   = "What a function sees"
)

// TestLikeKpt renders each package in place, or to the place that it names, and compares with what
// kpt made of it: what the files say, and their bytes. What differs is listed, with the reason.
func TestLikeKpt(t *testing.T) {
	t.Parallel()
	listed := differences(t)
	for _, g := range goldens(t) {
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			dir, programs := g.unpack(t)
			got := g.byKrmcat(t, dir, programs)
			kpt, krmcat := g.state(g.want.Changed), g.state(got.Changed)
			diff := cmp.Diff(data(t, kpt), data(t, krmcat))
			if got.Exit != g.want.Exit {
				diff = "exit " + g.want.Exit + " and " + got.Exit + got.Stderr + diff
			}
			if is := listed[otherResults][g.name()]; (diff != "") != is {
				t.Errorf("listed as different: %t, differs (-kpt +krmcat): %s\n%s", is, diff, got.Stderr)
			}
			if diff != "" {
				return
			}
			kptCalls := results(t, g.want.Results)
			if diff := cmp.Diff(kptCalls, results(t, got.Results)); diff != "" && len(kptCalls) > 0 {
				t.Errorf("results (-kpt +krmcat): %s", diff)
			}
			view := cmp.Diff(saw(kpt), saw(krmcat))
			if is := listed[otherViews][g.name()]; (view != "") != is {
				t.Errorf("listed as seen differently: %t, differs (-kpt +krmcat): %s", is, view)
			}
			delete(kpt, "in/Kptfile") // kpt writes it anew, TestKptfileStays
			delete(krmcat, "in/Kptfile")
			bytes := cmp.Diff(kpt, krmcat) + cmp.Diff(g.want.Stdout, got.Stdout)
			if is := listed[otherLayout][g.name()]; (bytes != "") != is {
				t.Errorf("listed with another layout: %t, differs (-kpt +krmcat): %s", is, bytes)
			}
		})
	}
}

// differences are the packages that docs/kpt.md lists as different, by the heading above their row.
func differences(t *testing.T) map[string]map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/kpt.md")
	if err != nil {
		t.Fatal(err)
	}
	found, heading := map[string]map[string]bool{}, ""
	for line := range strings.SplitSeq(string(page), "\n") {
		if h, ok := strings.CutPrefix(line, "### "); ok {
			heading, found[h] = h, map[string]bool{}
		} else if strings.HasPrefix(line, "## ") {
			heading = ""
		}
		cells := strings.Split(line, "|")
		if heading == "" || len(cells) < 4 {
			continue
		}
		for _, m := range regexp.MustCompile("`([a-z0-9-]+)`").FindAllStringSubmatch(cells[len(cells)-2], -1) {
			found[heading][m[1]] = true
		}
	}
	return found
}

// TestTwice renders packages whose functions change nothing the second time: neither does krmcat.
func TestTwice(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t) {
		again := slices.ContainsFunc(g.in, func(f txtar.File) bool {
			return regexp.MustCompile(`exec: (cat|fn (cat|label|setters|see|config))`).Match(f.Data)
		})
		changes := slices.ContainsFunc(g.in, func(f txtar.File) bool {
			return regexp.MustCompile(`exec: fn (note|add|reverse|fail|delete|path|comment|index)`).Match(f.Data)
		})
		if !again || changes || len(g.args) > 0 || g.want.Exit != "0\n" {
			continue
		}
		t.Run(g.name(), func(t *testing.T) {
			t.Parallel()
			dir, programs := g.unpack(t)
			if first := g.byKrmcat(t, dir, programs); first.Exit != "0\n" {
				t.Skip("krmcat refuses it: see TestLikeKpt")
			}
			// What a function sees of the first status is in the second one.
			if second := g.byKrmcat(t, dir, programs); len(second.Changed) > 0 && !slices.Contains([]string{"wire"}, g.name()) {
				t.Errorf("the second time changed %v\n%s", second.Changed, second.Stderr)
			}
		})
	}
}

// TestKptfileStays: a render writes the status, and nothing else, into the Kptfile.
func TestKptfileStays(t *testing.T) {
	t.Parallel()
	g := read(t, "testdata/kptfile-full.txtar")
	dir, programs := g.unpack(t)
	got := g.byKrmcat(t, dir, programs).Changed["in/Kptfile"]
	var was string
	for _, f := range g.in {
		if f.Name == "in/Kptfile" {
			was = string(f.Data)
		}
	}
	want := strings.Replace(was, "  annotations:\n    config.kubernetes.io/local-config: \"true\"\n", "  annotations:\n    config.kubernetes.io/local-config: \"true\"\n    trace: 'one '\n", 1)
	before, _, _ := strings.Cut(want, "    - type: Rendered\n")
	want = before + `    - type: Rendered
      status: "True"
      reason: RenderSuccess
  renderStatus:
    mutationSteps:
      - name: first
        exec: fn note one
        exitCode: 0
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
