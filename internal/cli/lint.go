package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/cli/ui"
)

func (e *env) lintCommand() *cli.Command {
	o := &outputCall{}
	return &cli.Command{
		Name: "lint", Args: true, ArgsUsage: "FILE",
		Usage: "list what could be better in a catalog",
		Description: `Compares the catalog or KRMFunctionDefinition in FILE ("-" for stdin) with the schema of KEP-2906, which
asks for more than krmcat needs, and lists the differences. What push refuses is an error here too.
The exit code is 0 for a catalog that push accepts, whatever is listed.`,
		Flags:  o.flags(ui.Data()),
		Action: func(c *cli.Context) error { return e.lint(c, o) },
	}
}

// lintView lists the findings in a catalog.
type lintView struct {
	File     string            `json:"file"`
	Findings []catalog.Finding `json:"findings"`
}

func (e *env) lint(c *cli.Context, o *outputCall) error {
	path, err := oneArg(c, "file")
	if err != nil {
		return err
	}
	data, err := e.readFile(path, maxText)
	if err != nil {
		return err
	}
	cat, err := catalog.Decode(path, data)
	if err != nil {
		return err
	}
	check := &checker{file: path, dir: e.dirOf(path), runtimes: e.runtimes()}
	if err := check.check(cat); err != nil {
		return err
	}
	v := lintView{File: path, Findings: catalog.Lint(path, data)}
	slices.SortStableFunc(v.Findings, func(a, b catalog.Finding) int { // error, warning
		return strings.Compare(string(a.Severity), string(b.Severity))
	})
	return e.show(c, o, v)
}

// Table implements ui.Tabler.
func (v lintView) Table() ui.Table {
	t := ui.Table{Header: []string{"LINE", "SEVERITY", "MESSAGE"}, Notes: []string{plural(len(v.Findings), "finding") + " in " + v.File}}
	for _, f := range v.Findings {
		t.Rows = append(t.Rows, []string{strconv.Itoa(f.Line), string(f.Severity), f.Message})
	}
	return t
}

// plural formats a number of things: 1 finding, 2 findings.
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
