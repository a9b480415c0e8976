package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
)

const (
	outputName = "output"
	formatName = "format"
)

// outputCall has the values of the flags for the output of a command.
type outputCall struct {
	place  string // a file; "" or "-" for stdout
	format string
}

// flags are --output and --format.
func (o *outputCall) flags(forms ui.Forms) []cli.Flag {
	return grouped(groupOutput,
		&cli.StringFlag{Name: outputName, Aliases: []string{"o"}, Usage: "write to `FILE` (default: -, which is stdout)", Destination: &o.place},
		o.formatFlag(forms),
	)
}

func (o *outputCall) formatFlag(forms ui.Forms) cli.Flag {
	return &choiceFlag{
		StringFlag: &cli.StringFlag{Name: formatName, Value: forms[0], Usage: "print in this `FORM`: " + forms.String(), Destination: &o.format},
		values:     forms, check: forms.Check,
	}
}

// show writes a value.
func (e *env) show(c *cli.Context, o *outputCall, v any) error {
	if isDir(o.place) {
		return usage(c, "--output %s is a directory: name a file in it", o.place)
	}
	if t, ok := v.(ui.Tabler); ok && o.format == "table" && (o.place == "" || o.place == toStdout) && e.coloured(e.Screen) {
		e.shown.Done()
		return ui.PrintColoured(e.Stdout, t)
	}
	var out bytes.Buffer
	if err := ui.Print(&out, o.format, v); err != nil {
		return err
	}
	return e.put(o.place, out.Bytes())
}

// coloured reports whether output to a terminal has colours: neither TERM nor NO_COLOR
// (https://no-color.org) says otherwise.
func (e *env) coloured(terminal bool) bool {
	return terminal && e.getenv("NO_COLOR") == "" && e.getenv("TERM") != "dumb"
}

// choiceFlag is a flag with a fixed list of values.
type choiceFlag struct {
	*cli.StringFlag
	values []string                 // a value that ends in = takes more text
	check  func(value string) error // returns an error for a value; nil if the list of values decides
	empty  bool                     // an empty value is the default
}

// choices returns an error for a flag of the command with a value that is not in its list.
func choices(c *cli.Context) error {
	if c.Bool(verboseName) && c.Bool("quiet") {
		return usage(c, "--verbose and --quiet contradict each other")
	}
	for _, flag := range c.Command.Flags {
		f, ok := flag.(*choiceFlag)
		if !ok || !c.IsSet(f.Name) {
			continue
		}
		value := c.String(f.Name)
		if f.empty && value == "" {
			continue
		}
		if f.check == nil && !slices.Contains(f.values, value) {
			return usage(c, "--%s: use %s, not %q", f.Name, orList(f.values), value)
		}
		if f.check == nil {
			continue
		}
		if err := f.check(value); err != nil {
			return usage(c, "--%s: %v%s", f.Name, err, formerly(f, value))
		}
	}
	return nil
}

// orList formats a list: a, b or c.
func orList(list []string) string {
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
}

// notPlace returns the message for -o with a form such as json, as kubectl has it; "" for a place.
func notPlace(flags []cli.Flag, f cli.Flag, value string) string {
	form, _ := lookup(flags, formatName).(*choiceFlag)
	if f.Names()[0] != outputName || form == nil || !ui.Forms(form.values).Names(value) {
		return ""
	}
	return fmt.Sprintf("-o names a place: the form is --format %s, and a file or directory of this name is -o ./%s", value, value)
}

// formerly returns the message for a flag with a value that has a flag of its own now, "" for
// others.
func formerly(f *choiceFlag, value string) string {
	if f.Name == formatName && slices.Contains(signatureForms(), value) {
		return fmt.Sprintf("; the form of a signature is --%s %s", signatureFormatName, value)
	}
	return ""
}

// renamed returns the flag that replaces one of an earlier version, or of another program.
func renamed(own []cli.Flag, name string) string {
	switch {
	case name == "plan-format":
		return "--plan --format FORM"
	case (name == "dir" || name == "d") && lookup(own, outputName) != nil:
		return "--output DIR, or -o DIR"
	case name == "color" || name == "no-color":
		return "NO_COLOR=1 in the environment"
	case (name == "password" || name == "p") && lookup(own, passwordStdinName) != nil:
		return dashed(passwordStdinName) + " (other users can read arguments)"
	}
	return ""
}
