package cli

import "github.com/urfave/cli/v2"

func (e *env) viewCommand() *cli.Command { return &cli.Command{Name: "view"} }
func (e *env) pushCommand() *cli.Command { return &cli.Command{Name: "push"} }
func (e *env) pullCommand() *cli.Command { return &cli.Command{Name: "pull"} }
