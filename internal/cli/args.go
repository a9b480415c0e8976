package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/spell"
	"github.com/krmcat/krmcat/registry"
)

// line is a parsed command line.
type line struct {
	path  []*cli.Command // the commands, outermost first
	flags []string       // of the last command, by primary name: --name=value
	root  []string       // global flags, at any position
	rest  []string       // positional arguments
	words int            // how many of them come after --
	help  bool
}

// usageError is a mistake in a command line.
type usageError struct {
	msg     string
	command string // the command whose help is offered: "krmcat render"
}

func (e *usageError) Error() string { return e.msg }

// Is implements the kind of the error for errors.Is.
func (*usageError) Is(kind error) bool { return kind == failure.Usage }

// Details implements failure.Detailed.
func (e *usageError) Details() failure.Details { return failure.Details{Try: e.command + " --help"} }

// parseLine parses a command line. Flags, global ones too, may stand anywhere before `--`:
// urfave/cli would read those after the first argument as arguments.
func parseLine(app *cli.App, args []string) (line, error) {
	var l line
	commands := app.Commands
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			if len(commands) > 0 && i+1 < len(args) {
				return l, &usageError{"the command has to be named before --", l.name(app)}
			}
			l.words = len(args) - i - 1
			l.rest = append(l.rest, args[i+1:]...)
			return l, nil
		case len(arg) > 1 && arg[0] == '-':
			used, err := l.flag(app, arg, args[i+1:])
			if err != nil {
				return l, err
			}
			i += used
		case len(commands) > 0 && len(l.rest) == 0:
			c := find(commands, arg)
			if c == nil {
				return l, l.unknownCommand(app, commands, arg)
			}
			l.path, commands = append(l.path, c), c.Subcommands
		default:
			l.rest = append(l.rest, arg)
		}
	}
	return l, nil
}

func find(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

// name returns the command as it is typed: "krmcat view catalog".
func (l line) name(app *cli.App) string {
	s := app.Name
	for _, c := range l.path {
		s += " " + c.Name
	}
	return s
}

// known returns the flags of the command, and the global flags.
func (l line) known(app *cli.App) (own, global []cli.Flag) {
	if n := len(l.path); n > 0 {
		return l.path[n-1].Flags, app.Flags
	}
	return nil, app.Flags
}

// flag parses one flag, and returns how many of the following arguments are its value.
func (l *line) flag(app *cli.App, arg string, next []string) (int, error) {
	name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	if name == "help" || name == "h" {
		l.help = true
		return 0, nil
	}
	own, global := l.known(app)
	into, f := &l.flags, lookup(own, name)
	if f == nil {
		into, f = &l.root, lookup(global, name)
	}
	if short := shortFlag(own, arg); f == nil && short != nil { // -oFILE
		into, f, name, value, has = &l.flags, short, arg[1:2], strings.TrimPrefix(arg[2:], "="), true
	}
	if f == nil {
		return 0, l.unknownFlag(app, name)
	}
	used := 0
	if _, isBool := f.(*cli.BoolFlag); !has && isBool {
		value = "true"
	} else if !has {
		if len(next) == 0 {
			return 0, &usageError{fmt.Sprintf("%s needs a value", dashed(name)), l.name(app)}
		}
		value, used = next[0], 1
	}
	if form := notPlace(own, f, value); form != "" {
		return 0, &usageError{form, l.name(app)}
	}
	if wrong := wrongValue(f, value); wrong != "" {
		return 0, &usageError{dashed(name) + ": " + wrong, l.name(app)}
	}
	given := "--" + f.Names()[0] + "="
	switch before := l.before(into, given); {
	case !decisive(f):
	case value == "": // as from an unset variable of a script
		return 0, &usageError{dashed(f.Names()[0]) + " is empty", l.name(app)}
	case before != nil && *before != value:
		return 0, &usageError{twice(f.Names()[0], *before, value), l.name(app)}
	}
	*into = append(*into, given+value)
	return used, nil
}

// before returns the earlier value of a flag, nil for none. given is --name=.
func (l *line) before(into *[]string, given string) *string {
	for _, flag := range *into {
		if value, found := strings.CutPrefix(flag, given); found {
			return &value
		}
	}
	return nil
}

// decisive reports whether a flag with one value decides about trust, signing or confinement. Two
// different values of it are an error. For other flags the last value applies, as in kustomize and
// cosign.
func decisive(f cli.Flag) bool {
	switch f.(type) {
	case *cli.StringFlag, *choiceFlag, *cli.BoolFlag:
	default:
		return false
	}
	flags := slices.Concat((&trustCall{}).flags(), (&signCall{}).keyFlags(), connectionFlags(&registry.Options{}))
	return slices.Contains([]string{confineName, "mount-anywhere", verifyCacheName}, f.Names()[0]) || lookup(flags, f.Names()[0]) != nil
}

// twice returns the message for a flag with two values. It does not repeat a possible secret.
func twice(name, first, second string) string {
	if name == tokenName {
		return dashed(name) + " is given twice, with two values"
	}
	return fmt.Sprintf("%s is given twice, as %q and as %q: give it once", dashed(name), first, second)
}

// wrongValue returns why a flag cannot have a value, "" if it can. urfave/cli gives no reason.
func wrongValue(f cli.Flag, value string) string {
	switch f.(type) {
	case *cli.DurationFlag:
		if _, err := time.ParseDuration(value); err == nil { // 0 needs no unit
			return ""
		}
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			if _, err := time.ParseDuration(value + "s"); err == nil {
				return fmt.Sprintf("%s has no unit: write %ss", value, value)
			}
		}
		return fmt.Sprintf("%q is not a duration: write one like 90s or 5m", value)
	case *cli.BoolFlag:
		if _, err := strconv.ParseBool(value); err != nil {
			return fmt.Sprintf("use true or false, not %q", value)
		}
	case *cli.IntFlag:
		if _, err := strconv.ParseInt(value, 0, 64); err != nil {
			return fmt.Sprintf("%q is not a valid number: write one like 1024", value)
		}
	}
	return ""
}

// shortFlag returns the flag of one letter in an argument such as -oFILE; nil for none.
func shortFlag(flags []cli.Flag, arg string) cli.Flag {
	if len(arg) < 3 || arg[1] == '-' {
		return nil
	}
	f := lookup(flags, arg[1:2])
	if _, isBool := f.(*cli.BoolFlag); isBool {
		return nil
	}
	return f
}

func lookup(flags []cli.Flag, name string) cli.Flag {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

func (l line) unknownFlag(app *cli.App, name string) error {
	own, global := l.known(app)
	msg := fmt.Sprintf("%s has no flag %s", l.name(app), dashed(name))
	if now := renamed(own, name); now != "" {
		return &usageError{msg + ": use " + now, l.name(app)}
	}
	var names []string
	if len(l.path) == 0 {
		names = append(names, versionName) // see run
	}
	for _, f := range slices.Concat(own, global) {
		for _, n := range f.Names() {
			// --insecure and flags of one letter are not suggested.
			if len(n) > 1 && n != insecureName {
				names = append(names, n)
			}
		}
	}
	if near := spell.Nearest(name, names); near != "" {
		msg += fmt.Sprintf("; did you mean %s?", dashed(near))
	}
	return &usageError{msg, l.name(app)}
}

func (l line) unknownCommand(app *cli.App, commands []*cli.Command, name string) error {
	msg := fmt.Sprintf("%s has no command %q", l.name(app), name)
	var names []string
	for _, c := range commands {
		names = append(names, c.Names()...)
	}
	if near := spell.Nearest(name, names); near != "" {
		msg += fmt.Sprintf("; did you mean %q?", near)
	} else if strings.ContainsAny(name, "/.") && slices.Contains(names, catalogName) {
		msg += fmt.Sprintf("; for a catalog: %s %s %s", l.name(app), catalogName, failure.ShellWord(name))
	}
	return &usageError{msg, l.name(app)}
}

// argv returns the line in the order that urfave/cli requires.
func (l line) argv(app *cli.App) []string {
	argv := append([]string{app.Name}, l.root...)
	for _, c := range l.path {
		argv = append(argv, c.Name)
	}
	argv = append(argv, l.flags...)
	return append(append(argv, "--"), l.rest...)
}
