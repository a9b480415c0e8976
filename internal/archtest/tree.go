package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// Tree is the module: its path, and the packages in it.
type Tree struct {
	Module   string
	Packages []Package
}

// Package is one folder of Go files.
type Package struct {
	Path  string // relative to the module; "main.go" for the root
	Files []File // for every operating system, without tests
}

// File is one Go file.
type File struct {
	Name   string
	Syntax *ast.File
	Set    *token.FileSet
}

// root is the name of the root package in the tables.
const root = "main.go"

// Load lists the packages of the module in dir with the go command, and parses their files, also
// those for other operating systems.
func Load(ctx context.Context, dir, tags string) (Tree, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-json", "-tags", tags, "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return Tree{}, fmt.Errorf("listing packages: %w: %s", err, exit.Stderr)
		}
		return Tree{}, fmt.Errorf("listing packages: %w", err)
	}
	var tree Tree
	for list := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := list.Decode(&l); errors.Is(err, io.EOF) {
			return tree, nil
		} else if err != nil {
			return Tree{}, fmt.Errorf("reading the list of packages: %w", err)
		}
		tree.Module = l.Module.Path
		p, err := l.parse()
		if err != nil {
			return Tree{}, err
		}
		if len(p.Files) > 0 {
			tree.Packages = append(tree.Packages, p)
		}
	}
}

// listed is a package in the output of go list.
type listed struct {
	ImportPath     string
	Dir            string
	GoFiles        []string
	CgoFiles       []string
	IgnoredGoFiles []string
	Module         struct{ Path string }
}

func (l listed) parse() (Package, error) {
	p := Package{Path: below(l.Module.Path, l.ImportPath)}
	for _, names := range [][]string{l.GoFiles, l.CgoFiles, l.IgnoredGoFiles} {
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parseFile(filepath.Join(l.Dir, name), nil)
			if err != nil {
				return Package{}, err
			}
			p.Files = append(p.Files, f)
		}
	}
	return p, nil
}

// below returns a package's path without that of its module.
func below(module, importPath string) string {
	if importPath == module {
		return root
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// parseFile reads a Go file from src, or from disk where src is nil.
func parseFile(name string, src any) (File, error) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return File{}, fmt.Errorf("parsing: %w", err)
	}
	return File{Name: filepath.Base(name), Syntax: syntax, Set: set}, nil
}

// line returns the line of a node.
func (f File) line(n ast.Node) int { return f.Set.Position(n.Pos()).Line }

// lines returns the number of lines of a node.
func (f File) lines(n ast.Node) int {
	return f.Set.Position(n.End()).Line - f.line(n) + 1
}
