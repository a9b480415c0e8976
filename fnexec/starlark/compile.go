package starlark

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
)

// The bounds on scripts.
const (
	maxScript  = 4 << 20 // bytes of one file
	maxModules = 100     // files of one script
)

// program is a compiled file of a script.
type program = starlark.Program

// options returns the dialect: the options that kyaml and kpt set.
func options() *syntax.FileOptions {
	return &syntax.FileOptions{
		Set:             true,
		While:           true,
		TopLevelControl: true,
		GlobalReassign:  true,
		Recursion:       true,
	}
}

// predeclared reports whether a name is predeclared in every file of a script.
func predeclared(name string) bool {
	return name == "ctx" || boundedUniverse().Has(name) || guards().Has(name)
}

// compiler compiles a script and the files that it loads.
type compiler struct {
	find    func(name string) ([]byte, error) // reads a file that is not among the verified ones
	modules map[string]*program
	files   []string // the names of the verified files that it can load
	effects effects  // of all compiled files
}

// script compiles a verified script: its first file, and what it loads from the other files and
// from find.
func (c *compiler) script(ctx context.Context, t verify.Trusted) (*program, error) {
	a, err := t.Artifact()
	if err != nil {
		return nil, err
	}
	if len(a.Files) == 0 {
		return nil, errNoFile
	}
	source, err := t.Read(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, f := range a.Files[1:] {
		c.files = append(c.files, registry.Title(f))
	}
	elsewhere := c.find
	c.find = func(name string) ([]byte, error) {
		for i := 1; i < len(a.Files); i++ {
			if registry.Title(a.Files[i]) == name {
				return t.Read(ctx, i)
			}
		}
		return elsewhere(name)
	}
	return c.entry(name(registry.Title(a.Files[0]), a.From.Name), source)
}

// entry compiles the file that is run, and checks that running it does something.
func (c *compiler) entry(name string, source []byte) (*program, error) {
	prog, err := c.compile(name, source)
	if err != nil {
		return nil, err
	}
	return prog, c.effects.idle(name)
}

func (c *compiler) compile(name string, source []byte) (*program, error) {
	if len(source) > maxScript {
		return nil, failure.Untrusted.Mark(fmt.Errorf("%s: it is larger than %d bytes", name, maxScript))
	}
	f, err := options().Parse(name, source, 0)
	switch {
	case err != nil && nested(source):
		return nil, failure.Untrusted.Mark(compileError(err))
	case err != nil:
		return nil, compileError(err)
	}
	if err := checkNames(f); err != nil {
		return nil, err
	}
	c.effects.see(f)
	if err := guard(f); err != nil {
		return nil, err
	}
	prog, err := starlark.FileProgram(f, predeclared)
	if err != nil {
		return nil, compileError(err)
	}
	for i := range prog.NumLoads() {
		module, pos := prog.Load(i)
		if err := c.load(module); err != nil {
			return nil, fmt.Errorf("%s: load(%q): %w", pos, module, err)
		}
	}
	return prog, nil
}

// The approximate limits of the parser, which does not report by a type of error that it reached
// one.
const (
	maxBrackets = 64  // nested brackets
	maxPrefixes = 900 // unary operators and lambdas in one line
)

// nested reports whether a script that failed to parse may be nested too deeply for the parser.
func nested(source []byte) bool {
	depth := 0
	for line := range bytes.SplitSeq(source, []byte("\n")) {
		prefixes := 0
		for _, c := range line {
			switch c {
			case '[', '{', '(':
				if depth++; depth > maxBrackets {
					return true
				}
			case ']', '}', ')':
				depth = max(0, depth-1)
			case '-', '+', '~':
				prefixes++
			}
		}
		if prefixes+bytes.Count(line, []byte("not"))+bytes.Count(line, []byte("lambda"))+bytes.Count(line, []byte(" if ")) > maxPrefixes {
			return true
		}
	}
	return false
}

// load compiles a module that is not built in, once.
func (c *compiler) load(module string) error {
	if _, ok := builtinModule(module); ok {
		return nil
	}
	if _, ok := c.modules[module]; ok {
		return nil // a cycle is reported when the script runs
	}
	if len(c.modules) == maxModules {
		return failure.Untrusted.Mark(fmt.Errorf("the script loads more than %d files", maxModules))
	}
	source, err := c.find(module)
	if errors.Is(err, errNoModule) {
		return noModule(module, c.files)
	}
	if err != nil {
		return err
	}
	c.modules[module] = nil
	prog, err := c.compile(path.Base(module), source)
	c.modules[module] = prog
	return err
}

// compileError returns all errors, each with file:line:column.
func compileError(err error) error {
	var list resolve.ErrorList
	if !errors.As(err, &list) {
		return err
	}
	var all []error
	for _, e := range list {
		all = append(all, e)
	}
	return errors.Join(all...)
}
