package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// The groups of flags, as the help names them.
const (
	groupInput      = "Input"
	groupFunction   = "Function"
	groupResources  = "Resources that it gets"
	groupOutput     = "Output"
	groupTrust      = "Trust"
	groupPermission = "Permissions of functions"
	groupExecution  = "How functions run"
	groupKpt        = "As in kpt fn render"
	groupKustomize  = "As in kustomize build"
	groupSigning    = "Signing"
	groupRegistry   = "Registries"
	groupGeneral    = "General"
)

// grouped puts flags into a group of the help.
func grouped(name string, flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			f.Category = name
		case *choiceFlag:
			f.Category = name
		case *cli.StringSliceFlag:
			f.Category = name
		case *cli.BoolFlag:
			f.Category = name
		case *cli.IntFlag:
			f.Category = name
		case *cli.DurationFlag:
			f.Category = name
		}
	}
	return flags
}

const (
	helpWidth  = 100 // columns
	flagColumn = 34  // the column of the descriptions of flags
)

// help prints the help of a command, with examples and its flags in groups. The printer of
// urfave/cli has no examples and does not wrap lines.
func (e *env) help(app *cli.App, l line) error {
	name, text, args, about := l.name(app), app.Usage, "COMMAND [ARGUMENT...] [FLAG...]", app.Description
	commands := app.Commands
	if n := len(l.path); n > 0 {
		c := l.path[n-1]
		text, args, about, commands = c.Usage, strings.TrimSpace(c.ArgsUsage+" [FLAG...]"), c.Description, c.Subcommands
		if len(commands) > 0 {
			args = "COMMAND [FLAG...]"
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s.\n\nUsage:\n  %s %s\n", strings.ToUpper(text[:1]), text[1:], name, args)
	for _, paragraph := range strings.Split(about, "\n\n") {
		if paragraph != "" {
			b.WriteString("\n" + wrapped(strings.Join(strings.Fields(paragraph), " "), helpWidth, ""))
		}
	}
	if list := examples(name); list != "" {
		b.WriteString("\nExamples:\n" + list)
	}
	helpCommands(&b, commands)
	own, global := l.known(app)
	helpFlags(&b, own)
	helpFlags(&b, global)
	if len(l.path) == 0 {
		b.WriteString("\n" + exitCodes)
	}
	return e.write([]byte(b.String()))
}

// helpCommands lists commands in their categories.
func helpCommands(b *strings.Builder, commands []*cli.Command) {
	wide := 0
	for _, c := range commands {
		wide = max(wide, len(c.Name))
	}
	group := ""
	for i, c := range commands {
		if c.Category != group || i == 0 {
			group = c.Category
			fmt.Fprintf(b, "\n%s:\n", cmp.Or(group, "Commands"))
		}
		fmt.Fprintf(b, "  %-*s  %s\n", wide, c.Name, c.Usage)
	}
}

// helpFlags lists flags in their groups, in the order of the first flag of each.
func helpFlags(b *strings.Builder, flags []cli.Flag) {
	var groups []string
	for _, f := range flags {
		groups = append(groups, groupOf(f))
	}
	for _, group := range unique(groups) {
		fmt.Fprintf(b, "\n%s:\n", group)
		for _, f := range flags {
			if groupOf(f) == group {
				flagHelp(b, f)
			}
		}
	}
}

func groupOf(f cli.Flag) string {
	if c, ok := f.(cli.CategorizableFlag); ok && c.GetCategory() != "" {
		return c.GetCategory()
	}
	return groupGeneral
}

// flagHelp writes the lines of one flag: its names, the name of its value, and what it does.
func flagHelp(b *strings.Builder, f cli.Flag) {
	names := "      --" + f.Names()[0]
	if i := slices.IndexFunc(f.Names(), func(n string) bool { return len(n) == 1 }); i >= 0 {
		names = "  -" + f.Names()[i] + ", --" + f.Names()[0]
	}
	doc, ok := f.(cli.DocGenerationFlag)
	if !ok {
		b.WriteString(names + "\n")
		return
	}
	before, rest, _ := strings.Cut(doc.GetUsage(), "`")
	value, after, _ := strings.Cut(rest, "`")
	text := before + value + after
	if value != "" {
		names += " " + value
	}
	if _, isBool := f.(*cli.BoolFlag); !isBool && doc.GetValue() != "" && doc.GetValue() != "[]" {
		text += " (default: " + doc.GetValue() + ")"
	}
	if _, many := f.(*cli.StringSliceFlag); many {
		text += " (repeatable)"
	}
	indent := strings.Repeat(" ", flagColumn)
	text = wrapped(text, helpWidth-flagColumn, indent)
	if n := utf8.RuneCountInString(names); n+2 <= flagColumn {
		text = names + text[n:]
	} else {
		text = names + "\n" + text
	}
	b.WriteString(text)
}

// wrapped breaks a text into lines of at most so many columns. Each but the first has an indent.
func wrapped(text string, width int, indent string) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			b.WriteString(indent)
		case column+1+n > width:
			b.WriteString("\n" + indent)
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String() + "\n"
}
