package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/pipeline"
)

// fnCall has the values of the flags of fn run.
type fnCall struct {
	renderCall
	image, exec, starlark, function, config string
	role                                    string
	only                                    matchCall
	to                                      string // --output
	dryRun, global                          bool
}

// The flags of fn run that name a program.
const (
	imageName    = "image"
	execName     = "exec"
	starlarkName = "starlark"
	functionName = "fn"
	globalName   = "global-scope"
	fnConfigName = "fn-config"
	dryRunName   = "dry-run"
)

// The values of --type.
const (
	mutator   = "mutator"
	validator = "validator"
)

// The values of --output of fn run that are no directory.
const (
	asList      = "stdout"
	asDocuments = "unwrap"
)

func (e *env) fnCommand() *cli.Command {
	return &cli.Command{
		Name:        "fn",
		Usage:       "run functions on directories in place, or in a pipe",
		Subcommands: []*cli.Command{e.fnRunCommand(), e.fnSourceCommand(), e.fnSinkCommand()},
		Action:      func(c *cli.Context) error { return e.noCommand(c) },
	}
}

func (e *env) fnRunCommand() *cli.Command {
	f := &fnCall{}
	return &cli.Command{
		Name: "run", Aliases: []string{"eval"}, Args: true, ArgsUsage: "[DIR | -]",
		Usage: "run a function on the resources of a directory, or of stdin",
		Description: `Reads the resources in DIR (default: .) with their comments, runs a function on them, and writes
what changed into their files: all files, or none if something fails. With - it reads a
ResourceList or resources from stdin, and writes a ResourceList to stdout.

Without a flag that names a function, those run that resources in DIR declare by the annotation
config.kubernetes.io/function: the deepest first, each on the resources in and below its directory,
or the one above a directory called functions.

A flag that names a program permits it to run. It is confined, and policies apply to it, as in
krmcat render. A function whose config names its own program needs --enable-alpha-plugins, and one
of a catalog needs --trusted-catalog.

Words KEY=VALUE after -- are the data of a ConfigMap, which is the functionConfig.`,
		Flags: slices.Concat(
			f.functionFlags(), f.only.flags(), f.targetFlags(), f.catalogFlag(), f.trust.flags(),
			f.permissionFlags(), grouped(groupPermission, f.restrictorFlag()), executionFlags(&f.sandbox, &f.renderCall), connectionFlags(&f.registry),
		),
		Before: func(c *cli.Context) error { return e.startResults(c, &f.results) }, // even if the flags are wrong
		Action: func(c *cli.Context) error { return e.fnRun(c, f) },
	}
}

// functionFlags are the flags that say which function runs.
func (f *fnCall) functionFlags() []cli.Flag {
	return grouped(groupFunction,
		&cli.StringFlag{Name: imageName, Aliases: []string{"i"}, Usage: "run the container image `IMAGE`", Destination: &f.image},
		&cli.StringFlag{Name: execName, Usage: "run a `PROGRAM` of this machine, with arguments as a shell splits them: 'set-label -v'", Destination: &f.exec},
		&cli.StringFlag{Name: starlarkName, Usage: "run the Starlark script in `FILE`", Destination: &f.starlark},
		&cli.StringFlag{Name: functionName, Usage: "run the `FUNCTION` of a catalog: its name, GROUP/KIND or GROUP/KIND/VERSION", Destination: &f.function},
		&cli.StringFlag{Name: fnConfigName, Usage: "pass the functionConfig in `FILE`; alone, it says which function runs, by its kind or its own runtime", Destination: &f.config},
		&cli.BoolFlag{Name: globalName, Usage: "give functions that resources declare all resources, and not only those at their directory", Destination: &f.global},
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: "type", Aliases: []string{"t"}, Value: mutator, Usage: "`WHAT` the function is: a mutator, or a validator, which must not change resources", Destination: &f.role},
			values:     []string{mutator, validator},
		},
	)
}

// catalogFlag names the catalogs that have the function. No target declares them.
func (f *fnCall) catalogFlag() []cli.Flag {
	return grouped(groupTrust, &cli.StringSliceFlag{
		Name: "trusted-catalog", Usage: "trust the catalog at `REF`, and look for the function in it; REF@sha256:… pins it", Destination: &f.trusted,
	})
}

// targetFlags are the flags that say where the resources go.
func (f *fnCall) targetFlags() []cli.Flag {
	return grouped(groupOutput, slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: outputName, Aliases: []string{"o"}, Usage: "write to `PLACE` and not into the files of DIR: stdout, a ResourceList; unwrap, the resources without it; or a directory that does not exist yet", Destination: &f.to},
		&cli.BoolFlag{Name: dryRunName, Usage: "print how files would change, and write none", Destination: &f.dryRun},
	}, f.results.flags())...)
}

// matchCall has the values of the flags that select resources.
type matchCall struct {
	match, exclude                    pipeline.Selector
	matchLabels, matchAnnotations     cli.StringSlice
	excludeLabels, excludeAnnotations cli.StringSlice
}

func (m *matchCall) flags() []cli.Flag {
	flags := selectorFlags("match", "run it only on resources", &m.match, &m.matchLabels, &m.matchAnnotations)
	flags = append(flags, selectorFlags("exclude", "do not run it on resources", &m.exclude, &m.excludeLabels, &m.excludeAnnotations)...)
	return grouped(groupResources, append(flags, &cli.BoolFlag{
		Name: "include-meta-resources", Aliases: []string{"m"},
		Usage: "ignored, as kpt ignores it: the Kptfile and functionConfigs are resources like others",
	})...)
}

func selectorFlags(prefix, what string, s *pipeline.Selector, labels, annotations *cli.StringSlice) []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: prefix + "-api-version", Usage: what + " of this `VERSION`", Destination: &s.APIVersion},
		&cli.StringFlag{Name: prefix + "-kind", Usage: what + " of this `KIND`", Destination: &s.Kind},
		&cli.StringFlag{Name: prefix + "-name", Usage: what + " with this `NAME`", Destination: &s.Name},
		&cli.StringFlag{Name: prefix + "-namespace", Usage: what + " in this `NAMESPACE`", Destination: &s.Namespace},
		&cli.StringSliceFlag{Name: prefix + "-labels", Usage: what + " with all labels `KEY=VALUE`", Destination: labels},
		&cli.StringSliceFlag{Name: prefix + "-annotations", Usage: what + " with all annotations `KEY=VALUE`", Destination: annotations},
	}
}
