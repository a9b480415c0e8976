package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/registry"
)

// pullCall has the values of the flags of pull.
type pullCall struct {
	registry registry.Options
	want     registry.Want
	output   outputCall // place is a directory
}

func (e *env) pullCommand() *cli.Command {
	p := &pullCall{}
	return &cli.Command{
		Name: "pull", Args: true, ArgsUsage: "REF",
		Usage: "fetch the files of an artifact",
		Description: `Every byte is checked against its digest before a file appears. The paths of the files are printed on
stdout, the reference with its digest on stderr.`,
		Flags: slices.Concat(grouped(groupInput,
			&cli.StringFlag{Name: "platform", Usage: "`OS/ARCH` of the program to fetch (default: this machine's)", Destination: &p.want.Platform},
		), grouped(groupOutput,
			&cli.StringFlag{Name: outputName, Aliases: []string{"o"}, Value: ".", Usage: "write into `DIR`, which is made if it is missing; - writes the only file to stdout", Destination: &p.output.place},
			p.output.formatFlag(ui.Data()),
		), connectionFlags(&p.registry)),
		Action: func(c *cli.Context) error { return e.pull(c, p) },
	}
}

// pulledView lists what was pulled.
type pulledView struct {
	Ref    string   `json:"ref"` // with its digest
	Digest string   `json:"digest"`
	Files  []string `json:"files"` // paths
}

func (e *env) pull(c *cli.Context, p *pullCall) error {
	ref, err := oneArg(c, "reference")
	if err != nil {
		return err
	}
	from, err := place(c, ref)
	if err != nil {
		return err
	}
	if file := fileOnWay(p.output.place); file != "" {
		return usage(c, "--output %s is a file: name a directory, or - for stdout", file)
	}
	client, err := e.client(p.registry)
	if err != nil {
		return err
	}
	a, err := client.Resolve(c.Context, from, p.want)
	if err != nil {
		return err
	}
	e.sayFiles(a)
	if p.output.place == toStdout {
		return e.pullToStdout(c, p, a)
	}
	release := e.Leave.Hold() // temporary files are removed
	paths, err := client.Pull(c.Context, a, p.output.place)
	release()
	if err != nil {
		return err
	}
	if p.output.format != ui.Data()[0] {
		return ui.Print(e.out, p.output.format, pulledView{a.Pinned().String(), a.Root.Digest.String(), paths})
	}
	e.note("%s", a.Pinned())
	return e.write([]byte(strings.Join(paths, "\n") + "\n"))
}

// sayFiles writes the files of an artifact to stderr if --verbose is set.
func (e *env) sayFiles(a registry.Artifact) {
	for _, f := range a.Files {
		e.shown.Say(fmt.Sprintf("%s: file %s, %s, %s", a.Pinned(), cmp.Or(registry.Title(f), "without a name"), f.Digest, sizeText(f.Size)))
	}
}

// pullToStdout writes an artifact of one file to stdout.
func (e *env) pullToStdout(c *cli.Context, p *pullCall, a registry.Artifact) error {
	switch {
	case p.output.format != ui.Data()[0]:
		return usage(c, "-o - writes the file itself to stdout: --format %s needs -o DIR", p.output.format)
	case len(a.Files) != 1:
		return usage(c, "-o - writes one file, and %s has %d: name a directory", a.Pinned(), len(a.Files))
	}
	data, err := a.ReadFile(c.Context, 0)
	if err != nil {
		return err
	}
	e.note("%s", a.Pinned())
	return e.write(data)
}
