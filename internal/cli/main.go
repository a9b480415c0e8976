package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/internal/leave"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// Main runs one command line and returns the exit code: see exitCode.
func Main(ctx context.Context, p Process) int {
	e := &env{Process: p, cosign: cosign.New(p.Judge), signs: cosign.New(p.Judge), out: p.Stdout, errs: ui.Clean(p.Stderr)}
	e.shown = e.progress()
	defer e.cosign.Close()
	defer e.signs.Close()
	defer func() { e.shown.Done() }()
	if p.Screen {
		e.out = ui.Clean(p.Stdout)
	}
	app := e.app() //nolint:contextcheck // a policy is read without one: verify.Method
	err := e.run(leave.With(ctx, p.Leave), app)
	if err == nil {
		return codeDone
	}
	return e.report(ctx, err)
}

// env is the state that every command needs.
type env struct {
	Process
	out     io.Writer // Stdout; on a terminal, text of others is made safe
	errs    io.Writer // Stderr; text of others is made safe
	verbose bool
	// errorForm is the form in which errors are written to stderr.
	errorForm string
	quiet     bool
	shown     *ui.Progress
	cosign    *cosign.Method // judges signatures
	// signs makes them, in a process of its own: the one that reads signatures of strangers never
	// has the private key or the identity token.
	signs *cosign.Method
	words int // the number of arguments after --
	// The directories of the user's config and of the machine's policy; nil until first used.
	userDir, machineDir *configDir
	functions
}

func (e *env) run(ctx context.Context, app *cli.App) error {
	app.Setup()
	args := e.Args[min(1, len(e.Args)):]
	if n := len(args); n > 0 && args[n-1] == completeFlag {
		return e.complete(ctx, app, args[:n-1])
	}
	var err error
	if e.errorForm, err = errorFormat(args); err != nil {
		return err
	}
	if len(args) > 0 && args[0] == "--"+versionName { // -v is --verbose
		args = append([]string{versionName}, args[1:]...)
	}
	l, err := parseLine(app, args)
	if err != nil {
		return err
	}
	if len(l.path) > 0 && l.path[0].Name == helpName && !l.help { // help COMMAND is COMMAND --help
		l, err = parseLine(app, l.rest)
		l.help = true
	}
	if err != nil {
		return err
	}
	if l.help {
		return e.help(app, l)
	}
	e.words = l.words
	return app.RunContext(ctx, l.argv(app))
}

const exitCodes = `Exit codes:
  0    done
  1    unexpected error, or an input file with a mistake
  2    usage: wrong flags or arguments, or a policy, config or key that cannot be read
  3    a function failed, by its exit code or its results
  4    not trusted
  5    not permitted
  6    not found
  7    could not reach
  130  interrupted
Of several errors, the first of 2, 5, 4, 6, 7, 3, 1 that applies decides.
`

const (
	commandsUse      = "Commands that use functions"
	commandsPublish  = "Commands that publish functions"
	commandsSettings = "Commands for settings"
	commandsOther    = "Other commands"
)

func (e *env) app() *cli.App {
	app := &cli.App{
		Name:        "krmcat",
		Usage:       "publish, trust and run KRM functions",
		Description: "Flags can be anywhere before --.",
		Flags: grouped(groupGeneral,
			&cli.BoolFlag{Name: verboseName, Aliases: []string{"v"}, Usage: "say on stderr what is done, and what is fetched from where", Destination: &e.verbose},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print only data, warnings and errors", Destination: &e.quiet},
			errorFormatFlag(),
			&cli.BoolFlag{Name: helpName, Aliases: []string{"h"}, Usage: "show the help of a command"},
		),
		Commands: slices.Concat(
			category(commandsUse, e.renderCommand(), e.fnCommand(), e.viewCommand(), e.verifyCommand(), e.pullCommand()),
			category(commandsPublish, e.pushCommand(), e.lintCommand(), e.signCommand(), e.keygenCommand()),
			category(commandsSettings, e.loginCommand(), e.logoutCommand(), e.configCommand(), e.cacheCommand()),
			category(commandsOther, e.completionCommand(), e.versionCommand(), &cli.Command{ // see run
				Name: helpName, Usage: "show the help of a command", ArgsUsage: "[COMMAND...]",
				Action: func(*cli.Context) error { return nil },
			}),
		),
		Action:         func(c *cli.Context) error { return e.noCommand(c) },
		Reader:         e.Stdin,
		Writer:         e.out,
		ErrWriter:      e.errs,
		HideVersion:    true,
		HideHelp:       true, // see help
		OnUsageError:   unreadFlags,
		ExitErrHandler: func(*cli.Context, error) {}, // the default ends the process
		// Mounts and annotations contain commas.
		DisableSliceFlagSeparator: true,
	}
	for _, c := range app.Commands {
		e.prepare(c)
	}
	return app
}

// category sets the category of commands in the help.
func category(name string, commands ...*cli.Command) []*cli.Command {
	for _, c := range commands {
		c.Category = name
	}
	return commands
}

func (e *env) prepare(c *cli.Command) {
	c.OnUsageError, c.HideHelp = unreadFlags, true
	for _, s := range c.Subcommands {
		e.prepare(s)
	}
	act := c.Action
	c.Action = func(ctx *cli.Context) error {
		if err := choices(ctx); err != nil {
			return err
		}
		e.shown = e.progress()
		return act(ctx)
	}
}

// progress shows what is done, in the way that the flags and the terminal have.
func (e *env) progress() *ui.Progress {
	return ui.NewProgress(e.Stderr, ui.Mode{
		Terminal: e.Terminal && e.getenv("TERM") != "dumb", Verbose: e.verbose, Quiet: e.quiet, Coloured: e.coloured(e.Terminal),
	})
}

const (
	helpName    = "help"
	verboseName = "verbose"
	versionName = "version"
)

// unreadFlags handles flags that urfave/cli cannot parse.
func unreadFlags(c *cli.Context, err error, _ bool) error {
	return &usageError{err.Error(), cmp.Or(c.Command.HelpName, c.App.Name)}
}

// noCommand returns the error for a line without a command.
func (e *env) noCommand(c *cli.Context) error {
	var names []string
	for _, sub := range c.Command.Subcommands {
		if !sub.Hidden {
			names = append(names, sub.Name)
		}
	}
	return &usageError{fmt.Sprintf("%s needs a command: %s", c.Command.HelpName, strings.Join(names, ", ")), c.Command.HelpName}
}

// usage returns a usageError of a command.
func usage(c *cli.Context, format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...), c.Command.HelpName}
}

// oneArg returns the only argument of a command.
func oneArg(c *cli.Context, what string) (string, error) {
	if c.NArg() != 1 {
		return "", usage(c, "%s takes one %s, not %d arguments", c.Command.HelpName, what, c.NArg())
	}
	return c.Args().First(), nil
}

// warn writes a warning to stderr.
func (e *env) warn(text string) { e.shown.Warn(text) }

// note writes to stderr what a command did.
func (e *env) note(format string, args ...any) { e.shown.Note(fmt.Sprintf(format, args...)) }

// watch shows the transfers of a registry client.
func (e *env) watch(t *registry.Transfer) {
	size := "of unknown size"
	if t.Size >= 0 {
		size = sizeText(t.Size)
	}
	switch {
	case e.verbose && t.Status == 0:
		e.shown.Say(fmt.Sprintf("%s %s: sending %s", t.Method, t.URL, size))
	case e.verbose:
		e.shown.Say(fmt.Sprintf("%s %s: %d, %s", t.Method, t.URL, t.Status, size))
	}
	e.shown.Track(t, func(moved int64) string { return fmt.Sprintf("%s, %s so far: %s", size, sizeText(moved), t.URL) })
}

// write writes data to stdout.
func (e *env) write(data []byte) error {
	e.shown.Done()
	if e.Screen && len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(slices.Clip(data), '\n') // so that the prompt begins a new line
	}
	if _, err := e.out.Write(data); err != nil {
		return fmt.Errorf("writing to stdout: %w", err)
	}
	return nil
}
