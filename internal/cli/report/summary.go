package report

import (
	"fmt"
	"strings"

	"github.com/krmcat/krmcat/fnexec"
)

// Summary returns what people are told of the calls: for each call a line with its verdict and its
// time, and below it its results and what it wrote to stderr. The results and the stderr that the
// error of a failed call shows are left out. A call that passed and said nothing is left out too,
// unless all is set. The texts are not safe for a terminal yet.
func (r Run) Summary(all bool) []string {
	var out []string
	for _, c := range r.Calls {
		var lines []string
		for _, res := range c.Results {
			if !c.blames(res) {
				lines = append(lines, below(describe(res, r.Lines.Of(res))))
			}
		}
		if text := strings.TrimSpace(c.Stderr); text != "" && c.Err == nil {
			lines = append(lines, below("stderr: "+text))
		}
		if all || c.Err != nil || len(lines) > 0 {
			head := fmt.Sprintf("%s %s: %s (%s)", c.verdict(), c.Where, c.Name, took(c.Took))
			out = append(out, strings.Join(append([]string{head}, lines...), "\n"))
		}
	}
	return out
}

// below indents a text below a line.
func below(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n    ") }

// describe returns a result as text: its severity, resource, file and line, field and message.
func describe(r fnexec.Result, at Position) string {
	if at.File == "" {
		return r.String()
	}
	c := r
	c.File = &fnexec.File{Path: at.File}
	if at.Line > 0 {
		c.File.Path += ":" + itoa(at.Line)
	}
	return c.String()
}
