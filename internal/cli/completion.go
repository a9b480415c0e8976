package cli

import (
	"context"
	_ "embed" // for the completion scripts
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// completeFlag requests the words that may follow. The protocol is that of urfave/cli. Its
// implementation is not used: it reads the arguments of the process, and does not support flags
// after arguments.
const completeFlag = "--generate-bash-completion"

//go:embed completion/krmcat.bash
var bashScript []byte

//go:embed completion/krmcat.zsh
var zshScript []byte

//go:embed completion/krmcat.fish
var fishScript []byte

//go:embed completion/krmcat.ps1
var powershellScript []byte

func (e *env) completionCommand() *cli.Command {
	script := func(shell, usageText string, data []byte) *cli.Command {
		return &cli.Command{
			Name: shell, Usage: usageText,
			Action: func(c *cli.Context) error {
				if c.NArg() > 0 {
					return usage(c, "%s takes no arguments", c.Command.HelpName)
				}
				return e.write(data)
			},
		}
	}
	return &cli.Command{
		Name: "completion", Usage: "print a completion script for a shell",
		Subcommands: []*cli.Command{
			script("bash", "print the script for bash", bashScript),
			script("zsh", "print the script for zsh", zshScript),
			script("fish", "print the script for fish", fishScript),
			script("powershell", "print the script for PowerShell", powershellScript),
		},
		Action: func(c *cli.Context) error { return e.noCommand(c) },
	}
}

// complete prints the words that may follow, one in each line, and nothing where a file or a
// reference is expected.
func (e *env) complete(ctx context.Context, app *cli.App, words []string) error {
	last := ""
	if n := len(words); n > 0 && strings.HasPrefix(words[n-1], "-") {
		if value := pendingValue(app, words); value != nil {
			return e.candidates(values(value))
		}
		last, words = words[n-1], words[:n-1]
	}
	l, err := parseLine(app, words)
	if err != nil {
		return nil //nolint:nilerr // a line that is wrong is not completed
	}
	commands := app.Commands
	if n := len(l.path); n > 0 {
		commands = l.path[n-1].Subcommands
	}
	if last != "" {
		own, global := l.known(app)
		return e.candidates(flagNames(slices.Concat(own, global)))
	}
	if len(l.path) == 2 && l.path[0].Name == "view" && l.path[1].Name == "function" && len(l.rest) == 0 {
		return e.candidates(e.functionNames(ctx, l))
	}
	var names []string
	for _, c := range commands {
		if !c.Hidden && len(l.rest) == 0 {
			names = append(names, c.Name)
		}
	}
	return e.candidates(names)
}

// pendingValue returns the last flag of a line if its value is missing, otherwise nil.
func pendingValue(app *cli.App, words []string) cli.Flag {
	n := len(words) - 1
	l, err := parseLine(app, words[:n])
	if err != nil {
		return nil
	}
	own, global := l.known(app)
	f := lookup(slices.Concat(own, global), strings.TrimLeft(words[n], "-"))
	if _, isBool := f.(*cli.BoolFlag); isBool {
		return nil
	}
	return f
}

// values returns the values of a flag that has a fixed list of them.
func values(f cli.Flag) []string {
	if choice, ok := f.(*choiceFlag); ok {
		return choice.values
	}
	return nil
}

// completeWithin limits the time that a completion takes to read catalogs.
const completeWithin = 2 * time.Second

// functionNames returns the types of the functions, and the names that are written, of the catalogs
// that a line names, otherwise of those that the user trusts. A catalog that cannot be read has
// none.
func (e *env) functionNames(ctx context.Context, l line) []string {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	var refs, names []string
	for _, flag := range l.flags {
		if ref, ok := strings.CutPrefix(flag, "--catalog="); ok {
			refs = append(refs, ref)
		}
	}
	if u, err := e.config(); err == nil && len(refs) == 0 {
		for _, c := range u.catalogs {
			if c.Pattern.Exact() {
				refs = append(refs, c.Pattern.String())
			}
		}
	}
	for _, ref := range refs {
		from, err := reference.Parse(ref)
		if err != nil {
			continue
		}
		f, err := e.catalog(ctx, registry.Options{Retry: registry.Retry{Max: -1}}, from)
		if err != nil {
			continue
		}
		for _, g := range f.Groups() {
			for _, name := range []string{g.Group + "/" + g.Kind, g.Versions[0].Name} {
				if name != "" && plainForShells(name) {
					names = append(names, name)
				}
			}
		}
	}
	return unique(names)
}

// plainForShells reports whether a word needs no quotes in a shell: bash and PowerShell insert
// completions without quotes, and the words are from catalogs that are not trusted.
func plainForShells(word string) bool {
	return !strings.HasPrefix(word, "-") && !strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._/", r)
	})
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		names = append(names, dashed(f.Names()[0]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (e *env) candidates(words []string) error {
	if len(words) == 0 {
		return nil
	}
	return e.write([]byte(strings.Join(words, "\n") + "\n"))
}
