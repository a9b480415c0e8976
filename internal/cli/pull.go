package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/registry"
)

func (e *env) pullCommand() *cli.Command {
	var o registry.Options
	var dir, platform string
	return &cli.Command{
		Name: "pull", Args: true, ArgsUsage: "REF",
		Usage: "fetch the files of an artifact",
		Description: `Every byte is checked against its digest before a file appears. The paths of the
files are printed on stdout, the reference with its digest on stderr.`,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "dir", Aliases: []string{"d", "output", "o"}, Value: ".", Usage: "write into `DIR`, which is made where it is missing", Destination: &dir},
			&cli.StringFlag{Name: "platform", Usage: "`OS/ARCH` of the program to fetch (default: this machine's)", Destination: &platform},
		}, connectionFlags(&o)...),
		Action: func(c *cli.Context) error { return e.pull(c, o, registry.Want{Platform: platform}, dir) },
	}
}

func (e *env) pull(c *cli.Context, o registry.Options, w registry.Want, dir string) error {
	ref, err := oneArg(c, "reference")
	if err != nil {
		return err
	}
	from, err := place(c, ref)
	if err != nil {
		return err
	}
	client, err := e.client(o)
	if err != nil {
		return err
	}
	a, err := client.Resolve(c.Context, from, w)
	if err != nil {
		return err
	}
	release := e.Leave.Hold() // what is beside the files is removed
	paths, err := client.Pull(c.Context, a, dir)
	release()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(e.errs, a.Pinned())
	return e.write([]byte(strings.Join(paths, "\n") + "\n"))
}
