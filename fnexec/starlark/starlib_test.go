package starlark_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const prelude = `
load("encoding/base64.star", "base64")
load("encoding/csv.star", "csv")
load("encoding/json.star", "json")
load("encoding/yaml.star", "yaml")
load("hash.star", "hash")
load("math.star", "math")
load("re.star", "re")
load("time.star", "time")
`

// question is an expression, what starlib answers, and what krmcat answers if that is different.
type question struct {
	expression, starlib, ours string
	line                      int
}

// questions reads answers.txt, which testdata/starlib/answers.sh writes.
func questions(t *testing.T) []question {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "starlib", "answers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []question
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		switch last := len(out) - 1; {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "= "), strings.HasPrefix(line, "! "):
			out[last].starlib = line
		case strings.HasPrefix(line, "~ "):
			out[last].ours = line[2:]
		default:
			out = append(out, question{expression: line, line: number})
		}
	}
	return out
}

// TestAnswersOfStarlib asks what starlib was asked, and compares the answers.
func TestAnswersOfStarlib(t *testing.T) {
	t.Parallel()
	canon, err := os.ReadFile(filepath.Join("testdata", "starlib", "canon.star"))
	if err != nil {
		t.Fatal(err)
	}
	asked := questions(t)
	if len(asked) < 200 {
		t.Fatalf("only %d questions", len(asked))
	}
	for _, q := range asked {
		_, out, err := run(t, prelude+string(canon)+"print(canon(("+q.expression+")))")
		got := "= " + strings.TrimSuffix(out.Stderr, "\n")
		if err != nil {
			got = "! " + err.Error()
		}
		same := answers(got, q.starlib)
		switch {
		case q.starlib == "":
			t.Errorf("line %d: it has no answer: run answers.sh", q.line)
		case q.ours == "" && !same:
			t.Errorf("line %d: %s\n got %s\nwant %s", q.line, q.expression, got, q.starlib)
		case q.ours != "" && !answers(got, q.ours):
			t.Errorf("line %d: %s\n got %s\nwant %s", q.line, q.expression, got, q.ours)
		case q.ours != "" && same:
			t.Errorf("line %d: %s: the answer is that of starlib", q.line, q.expression)
		}
	}
}

// answers reports whether an answer is the expected one. krmcat says more in an error.
func answers(got, want string) bool {
	if text, ok := strings.CutPrefix(want, "! "); ok {
		return strings.HasPrefix(got, "! ") && strings.Contains(got, text)
	}
	return got == want
}
