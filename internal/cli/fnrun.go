package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/files"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
)

// fnRun runs one function on a directory or on stdin.
func (e *env) fnRun(c *cli.Context, f *fnCall) error {
	args := c.Args().Slice()
	dir, err := fnTarget(c, args[:len(args)-e.words])
	if err != nil {
		return err
	}
	find, err := e.fnSteps(c, f, dir, args[len(args)-e.words:])
	if err != nil {
		return err
	}
	if err := e.fnOutput(c, f, dir); err != nil {
		return err
	}
	f.Dir = dir
	if dir == toStdout {
		f.Dir = "."
	}
	if err := e.functionOptions(c, &f.renderCall); err != nil {
		return err
	}
	in := &fnInput{dir: dir}
	f.Load = func(ctx context.Context, _ pipeline.Options) (pipeline.Target, error) {
		items, err := e.readItems(ctx, in)
		if err != nil {
			return nil, err
		}
		steps, err := find(items)
		if err != nil {
			return nil, err
		}
		return pipeline.Sequence{Kind: "Directory", Steps: steps}.On(items), nil
	}
	renderer, err := e.prepared(&f.renderCall)
	if err != nil {
		return err
	}
	return e.build(c, renderer, &f.renderCall, func(out render.Output) error { return e.writeItems(c.Context, f, in, out.Items) })
}

// fnTarget returns the directory whose resources are read, or "-" for stdin.
func fnTarget(c *cli.Context, args []string) (string, error) {
	if len(args) > 1 {
		return "", usage(c, "%s takes one directory, not %d arguments; values of the functionConfig come after --", c.Command.HelpName, len(args))
	}
	dir := "."
	if len(args) == 1 {
		dir = args[0]
	}
	if file := fileOnWay(dir); file != "" {
		return "", usage(c, "%s takes a directory, and %s is a file: name %s", c.Command.HelpName, file, filepath.Dir(file))
	}
	return dir, nil
}

// fnOutput checks where the resources go, and sets the default.
func (e *env) fnOutput(c *cli.Context, f *fnCall, dir string) error {
	if dir == toStdout {
		f.to = cmp.Or(f.to, asList)
	}
	switch {
	case f.to == toStdout:
		return usage(c, "-o - is -o %s, a ResourceList, or -o %s, the resources without it", asList, asDocuments)
	case f.dryRun && dir == toStdout:
		return usage(c, "--%s prints how files change, and stdin has none", dryRunName)
	case f.dryRun && f.to != "":
		return usage(c, "--%s prints how the files of %s change: it does not go with -o %s", dryRunName, dir, f.to)
	case f.to == "" || f.to == asList || f.to == asDocuments:
		return nil
	}
	return notYet(c, f.to)
}

// notYet returns an error if a directory that is to be made exists.
func notYet(c *cli.Context, dir string) error {
	if _, err := os.Lstat(dir); err == nil {
		return usage(c, "%s is there already: name a directory that is to be made", dir)
	}
	return nil
}

// fnSteps returns what finds the functions: the one that the flags name, or those that resources
// declare. values are the words after --.
func (e *env) fnSteps(c *cli.Context, f *fnCall, dir string, values []string) (func([]*yaml.RNode) ([]pipeline.Step, error), error) {
	only, err := f.only.selection(c)
	if err != nil {
		return nil, err
	}
	program, err := f.program(c)
	if err != nil {
		return nil, err
	}
	if program == nil && f.config == "" {
		if len(values) > 0 || c.IsSet("type") {
			return nil, usage(c, "%s needs a function for values after -- and for --type: --%s, --%s, --%s, --%s or --%s", c.Command.HelpName, imageName, execName, starlarkName, functionName, fnConfigName)
		}
		return e.declared(c, pipeline.Declarations{Of: dir, Dir: e.Dir, Global: f.global, Only: only}), nil
	}
	if f.global {
		return nil, usage(c, "--%s is for functions that resources declare, and the flags name another one", globalName)
	}
	command, err := e.fnCommandOf(c, f, program, values)
	command.Only = only
	return func([]*yaml.RNode) ([]pipeline.Step, error) {
		step, err := command.Step()
		return []pipeline.Step{step}, err
	}, err
}

// declared finds the functions that resources declare.
func (e *env) declared(c *cli.Context, d pipeline.Declarations) func([]*yaml.RNode) ([]pipeline.Step, error) {
	return func(items []*yaml.RNode) ([]pipeline.Step, error) {
		steps, err := d.Steps(items)
		if err == nil && len(steps) == 0 {
			err = usage(c, "%s needs a function: --%s, --%s, --%s, --%s or --%s; no resource of %s declares one", c.Command.HelpName, imageName, execName, starlarkName, functionName, fnConfigName, d.Of)
		}
		return steps, err
	}
}

// fnCommandOf returns the function that flags name.
func (e *env) fnCommandOf(c *cli.Context, f *fnCall, program *pipeline.Program, values []string) (pipeline.Command, error) {
	command := pipeline.Command{Dir: e.Dir, Role: pipeline.Transformer, Program: program}
	if f.role == validator {
		command.Role = pipeline.Validator
	}
	var err error
	switch {
	case command.Program != nil:
		command.Where = command.Program.By + " " + failure.ShellWord(first(f.image, f.exec, f.starlark, f.function))
	default:
		command.Where = "--" + fnConfigName + " " + failure.ShellWord(f.config)
	}
	if f.config != "" && len(values) > 0 {
		return command, usage(c, "--%s and values after -- are two functionConfigs", fnConfigName)
	}
	if f.config == "" {
		command.Values, err = configValues(c, values)
		return command, err
	}
	data, err := e.readFile(f.config, maxText)
	command.Config = &pipeline.ConfigFile{Path: f.config, Dir: filepath.Dir(e.abs(f.config)), Data: data}
	return command, err
}

// program returns the program that a flag names; nil for none.
func (f *fnCall) program(c *cli.Context) (*pipeline.Program, error) {
	var found []pipeline.Program
	if f.image != "" {
		found = append(found, pipeline.Program{By: "--" + imageName, Kind: "container", Spec: map[string]any{"image": f.image}})
	}
	if f.exec != "" {
		words, err := shellWords(f.exec)
		if err != nil || len(words) == 0 || words[0] == "" {
			return nil, usage(c, "--%s %s names no program: %v", execName, failure.ShellWord(f.exec), cmp.Or(err, errors.New("it is empty")))
		}
		spec := map[string]any{"path": words[0]}
		if len(words) > 1 {
			spec["args"] = words[1:]
		}
		found = append(found, pipeline.Program{By: "--" + execName, Kind: "exec", Spec: spec})
	}
	if f.starlark != "" {
		found = append(found, pipeline.Program{By: "--" + starlarkName, Kind: "starlark", Spec: map[string]any{"path": f.starlark}})
	}
	if f.function != "" {
		if err := catalog.CheckNamed(f.function); err != nil {
			return nil, usage(c, "--%s: %v", functionName, err)
		}
		found = append(found, pipeline.Program{By: "--" + functionName, Kind: pipeline.NamedKind, Spec: f.function})
	}
	switch len(found) {
	case 0:
		return nil, nil //nolint:nilnil // the config says it, or a catalog
	case 1:
	default:
		return nil, usage(c, "%s and %s name two functions: name one", found[0].By, found[1].By)
	}
	if spec, ok := found[0].Spec.(map[string]any); ok {
		// The user who names a program asks for what it may reach too.
		spec["requireNetwork"] = f.Allow.Network
		spec["requireStorageMount"] = len(f.mounts.Value()) > 0
	}
	return &found[0], nil
}

// configValues parses the values after --.
func configValues(c *cli.Context, words []string) ([]pipeline.Value, error) {
	var values []pipeline.Value
	seen := map[string]bool{}
	for _, word := range words {
		key, value, found := strings.Cut(word, "=")
		switch {
		case !found || key == "":
			return nil, usage(c, "after --, %q is no KEY=VALUE", word)
		case seen[key]:
			return nil, usage(c, "after --, %s is given twice", key)
		}
		seen[key] = true
		values = append(values, pipeline.Value{Key: key, Value: value})
	}
	return values, nil
}

// selection returns what the flags select.
func (m *matchCall) selection(c *cli.Context) (s pipeline.Selectors, err error) {
	for _, p := range []struct {
		flag string
		from []string
		to   *map[string]string
	}{
		{"match-labels", m.matchLabels.Value(), &m.match.Labels}, {"match-annotations", m.matchAnnotations.Value(), &m.match.Annotations},
		{"exclude-labels", m.excludeLabels.Value(), &m.exclude.Labels}, {"exclude-annotations", m.excludeAnnotations.Value(), &m.exclude.Annotations},
	} {
		for _, text := range p.from {
			key, value, found := strings.Cut(text, "=")
			if !found || key == "" {
				return s, usage(c, "--%s %s is no KEY=VALUE", p.flag, failure.ShellWord(text))
			}
			if *p.to == nil {
				*p.to = map[string]string{}
			}
			(*p.to)[key] = value
		}
	}
	if !m.match.Empty() {
		s.Selectors = []pipeline.Selector{m.match}
	}
	if !m.exclude.Empty() {
		s.Exclude = []pipeline.Selector{m.exclude}
	}
	return s, nil
}

// fnInput is where resources were read from.
type fnInput struct {
	dir  string      // "-" for stdin
	tree *files.Tree // nil for stdin
	none bool        // there were no resources
}

// maxStream is the maximum size of resources from stdin, in bytes.
const maxStream = 512 << 20

// readItems reads the resources of a directory or of stdin.
func (e *env) readItems(ctx context.Context, in *fnInput) ([]*yaml.RNode, error) {
	if in.dir == toStdout {
		list, err := e.readList()
		if err != nil {
			return nil, err
		}
		if list.FunctionConfig != nil {
			e.warn("the functionConfig of the ResourceList on stdin is not used: name it by --" + fnConfigName)
		}
		in.none = len(list.Items) == 0
		return list.Items, nil
	}
	tree, err := e.readTree(ctx, in.dir)
	if err != nil {
		return nil, err
	}
	items := tree.Items()
	in.tree, in.none = tree, len(items) == 0
	return items, nil
}

// readTree reads the resources of a directory, as `kpt fn eval` does.
func (e *env) readTree(ctx context.Context, dir string) (*files.Tree, error) {
	tree, err := files.Read(ctx, dir, files.Options{Kptfiles: true, Packages: files.Nested})
	if err != nil {
		return nil, err
	}
	for _, text := range tree.Notes() {
		e.warn(text)
	}
	return tree, nil
}

// readList reads a ResourceList, a List or resources from stdin.
func (e *env) readList() (*fnexec.ResourceList, error) {
	data, err := readUpTo(e.Stdin, "stdin", maxStream)
	if err != nil {
		return nil, err
	}
	list, err := fnexec.Decode(data)
	switch {
	case errors.Is(err, fnexec.ErrEmpty):
		return &fnexec.ResourceList{}, nil
	case err != nil:
		return nil, fmt.Errorf("stdin: %w", err)
	}
	return list, nil
}
