package pages

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/syntax"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

const starlarkPage = "docs/starlark.md"

// TestStarlarkPageRuns types the sessions and the commands of docs/starlark.md. UPDATE_GOLDEN=1
// updates the output on the page.
func TestStarlarkPageRuns(t *testing.T) {
	t.Parallel()
	text := page(t, starlarkPage)
	input, ran := "", 0
	updated := text
	for _, b := range blocks(text) {
		switch b.info {
		case "yaml session":
			input = b.text
		case "python session":
			ran++
			got := session(t, b.text, input)
			if diff := cmp.Diff(b.text, got); diff != "" && os.Getenv("UPDATE_GOLDEN") == "" {
				t.Errorf("%s, line %d (UPDATE_GOLDEN=1 updates the page):\n%s", starlarkPage, b.line, diff)
			}
			updated = strings.Replace(updated, b.text, got, 1)
		}
	}
	if ran < 15 {
		t.Errorf("only %d sessions were run", ran)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(filepath.Join(top, filepath.FromSlash(starlarkPage)), []byte(updated), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	typed(t, starlarkPage, 3)
}

// session runs the lines after >>> one after the other, and returns them with what each of them
// returns or prints. A line that fails is not part of the following ones.
func session(t *testing.T, text, input string) string {
	t.Helper()
	var out, before strings.Builder
	for _, entry := range strings.Split("\n"+text, "\n>>> ")[1:] {
		var code []string
		for i, line := range strings.Split(entry, "\n") {
			more, ok := strings.CutPrefix(line, "... ")
			if i > 0 && !ok {
				break
			}
			if ok {
				line = more
			}
			code = append(code, line)
		}
		shown := strings.Join(code, "\n... ")
		statement := strings.Join(code, "\n") + "\n"
		_, notExpr := (&syntax.FileOptions{}).ParseExpr("session", statement, 0)
		asked := statement
		if notExpr == nil {
			statement = "_ = " + statement
			asked = "_ = (" + strings.Join(code, "\n") + ")\nprint(repr(_)) if _ != None else None\n"
		}
		printed, err := runScript(t, before.String()+"print(\"\\1\")\n"+asked, input)
		if err != nil {
			printed = "Error: " + err.Error() + "\n"
		} else {
			before.WriteString(statement)
		}
		out.WriteString(">>> " + shown + "\n" + printed)
	}
	return out.String()
}

// runScript runs a script on the input, and returns what it prints after the mark.
func runScript(t *testing.T, script, input string) (string, error) {
	t.Helper()
	list, err := yaml.Parse(input)
	if err != nil {
		t.Fatal(err)
	}
	items, err := list.Field("items").Value.Elements()
	if err != nil {
		t.Fatal(err)
	}
	config := list.Field("functionConfig").Value
	if err := config.PipeE(yaml.SetField("source", yaml.NewStringRNode(script))); err != nil {
		t.Fatal(err)
	}
	p, err := starlark.New().Prepare(nil, fnexec.Site{Inline: true, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	trusted, err := verify.Verify(t.Context(), verify.Subject{Artifact: *p.Needs.Literal}, verify.UserFlag{Flag: "--test"})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := sandbox.Allow{}.Grant(p.Needs.Request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Load(t.Context(), trusted, grant)
	if err != nil {
		return "", short(err)
	}
	if err := config.PipeE(yaml.Clear("source")); err != nil {
		t.Fatal(err)
	}
	output, err := fnexec.Call(t.Context(), r, fnexec.Input{Items: items, Config: config})
	_, printed, _ := strings.Cut(output.Stderr, "\x01\n")
	return printed, short(err)
}

// short returns the first line of an error without the place in the script, which has the lines of
// the session before it.
func short(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if _, after, ok := strings.Cut(text, "exit code 1: "); ok {
		text = after
	}
	text, _, _ = strings.Cut(text, "\n") // the results and stderr come after it
	return errors.New(regexp.MustCompile(`^(loading functionConfig.star: )?functionConfig\.star:\d+:\d+: `).ReplaceAllString(text, ""))
}
