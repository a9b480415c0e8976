package cli

import (
	"errors"
	"path"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

func (e *env) fnSourceCommand() *cli.Command {
	var config, form string
	return &cli.Command{
		Name: "source", Args: true, ArgsUsage: "[DIR...]",
		Usage: "print the resources of directories as a ResourceList",
		Description: `Reads the resources in DIR (default: .) with their comments, and prints a ResourceList for a
function, for krmcat fn run - and for krmcat fn sink. Each resource has the path of its file. With
several directories the path begins with the name of the directory.`,
		Flags: grouped(groupOutput,
			&choiceFlag{
				StringFlag: &cli.StringFlag{Name: outputName, Aliases: []string{"o"}, Value: asList, Usage: "print in this `FORM`: stdout, a ResourceList, or unwrap, the resources without it", Destination: &form},
				values:     []string{asList, asDocuments},
			},
			&cli.StringFlag{Name: fnConfigName, Usage: "add the functionConfig in `FILE` to the ResourceList", Destination: &config},
		),
		Action: func(c *cli.Context) error {
			list := &fnexec.ResourceList{}
			var err error
			if list.Items, err = e.source(c, c.Args().Slice()); err != nil {
				return err
			}
			if config != "" {
				if list.FunctionConfig, err = e.fnConfig(config); err != nil {
					return err
				}
			}
			if form == asDocuments {
				return e.writeDocuments(list.Items)
			}
			return e.writeList(list)
		},
	}
}

// source reads the resources of directories.
func (e *env) source(c *cli.Context, dirs []string) ([]*yaml.RNode, error) {
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	var names []string
	var items []*yaml.RNode
	for _, dir := range dirs {
		if file := fileOnWay(dir); file != "" {
			return nil, usage(c, "%s takes directories, and %s is a file: name %s", c.Command.HelpName, file, filepath.Dir(file))
		}
		tree, err := e.readTree(c.Context, dir)
		if err != nil {
			return nil, err
		}
		of := tree.Items()
		if name := filepath.Base(tree.Dir()); len(dirs) > 1 {
			if slices.Contains(names, name) {
				return nil, usage(c, "two directories are called %s, and the paths of their resources would be the same", name)
			}
			names = append(names, name)
			for _, n := range of {
				at := yamldoc.Field(annotation.Of(n.YNode()), annotation.Path)
				at.Value = path.Join(name, at.Value)
			}
		}
		items = append(items, of...)
	}
	return items, nil
}

// fnConfig reads a functionConfig as it is written.
func (e *env) fnConfig(file string) (*yaml.RNode, error) {
	data, err := e.readFile(file, maxText)
	if err != nil {
		return nil, err
	}
	n, err := yamldoc.One(data)
	if err == nil && (n == nil || n.Kind != yaml.MappingNode) {
		err = errors.New("a functionConfig is a mapping, this is " + yamldoc.Describe(n))
	}
	if err != nil {
		return nil, yamldoc.In(file, failure.Unexpected, err)
	}
	return yaml.NewRNode(n), nil
}

func (e *env) fnSinkCommand() *cli.Command {
	return &cli.Command{
		Name: "sink", Args: true, ArgsUsage: "DIR",
		Usage: "write the resources of a ResourceList on stdin to files",
		Description: `Reads a ResourceList or resources from stdin, and makes DIR with their files: at the path that each
resource has, else at [namespace/]kind_name.yaml. DIR must not exist. It is complete, or is not
there.`,
		Action: func(c *cli.Context) error {
			dir, err := oneArg(c, "directory")
			if err != nil {
				return err
			}
			if err := notYet(c, dir); err != nil {
				return err
			}
			list, err := e.readList()
			if err != nil {
				return err
			}
			return e.makeTree(c.Context, dir, list.Items)
		},
	}
}
