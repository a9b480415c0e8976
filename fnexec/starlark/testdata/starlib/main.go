// Command starlib writes what the libraries of kpt's starlark function answer to the expressions
// of a file.
//
// Each line of the file that begins with a letter or a bracket is an expression. The program
// writes the answer below it: "= " and the value as canon.star prints it, or "! " and the error. A line
// that begins with "~ " or "# " stays: it is what krmcat answers instead, or a comment.
//
// It is a module of its own, so that krmcat's does not require these libraries. The versions are
// those of kpt's function. Run it by answers.sh.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/qri-io/starlib/encoding/base64"
	"github.com/qri-io/starlib/encoding/csv"
	"github.com/qri-io/starlib/encoding/json"
	"github.com/qri-io/starlib/encoding/yaml"
	"github.com/qri-io/starlib/hash"
	"github.com/qri-io/starlib/math"
	"github.com/qri-io/starlib/re"
	"github.com/qri-io/starlib/time"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

func main() {
	if err := rewrite(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rewrite(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	names, err := modules()
	if err != nil {
		return err
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "= ") || strings.HasPrefix(line, "! ") {
			continue
		}
		out.WriteString(line + "\n")
		if line != "" && !strings.HasPrefix(line, "~ ") && !strings.HasPrefix(line, "#") {
			out.WriteString(answer(line, names) + "\n")
		}
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

func modules() (starlark.StringDict, error) {
	names := starlark.StringDict{"json": json.Module, "math": math.Module, "time": time.Module}
	for _, load := range []func() (starlark.StringDict, error){
		base64.LoadModule, csv.LoadModule, yaml.LoadModule, hash.LoadModule, re.LoadModule,
	} {
		module, err := load()
		if err != nil {
			return nil, err
		}
		for name, value := range module {
			names[name] = value
		}
	}
	options := &syntax.FileOptions{Recursion: true}
	canon, err := starlark.ExecFileOptions(options, &starlark.Thread{Name: "canon"}, "canon.star", nil, nil)
	if err != nil {
		return nil, err
	}
	names["canon"] = canon["canon"]
	return names, nil
}

func answer(expression string, names starlark.StringDict) (line string) {
	defer func() {
		if p := recover(); p != nil {
			line = fmt.Sprintf("! panic: %v", p)
		}
	}()
	thread := &starlark.Thread{Name: "answers"}
	options := &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true}
	v, err := starlark.EvalOptions(options, thread, "expression", expression, names)
	if err != nil {
		return "! " + strings.ReplaceAll(err.Error(), "\n", "\\n")
	}
	printed, err := starlark.Call(thread, names["canon"], starlark.Tuple{v}, nil)
	if err != nil {
		return "! " + err.Error()
	}
	text, _ := starlark.AsString(printed)
	return "= " + text
}
