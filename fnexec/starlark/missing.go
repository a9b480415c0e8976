package starlark

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/krmcat/krmcat/internal/spell"
)

// kptImage is the container image of kpt's starlark function.
const kptImage = "ghcr.io/kptdev/krm-functions-catalog/starlark"

var errNoModule = errors.New("there is no such module: it is neither built in nor a file of the script")

// builtinModules are the names of the built-in modules.
func builtinModules() []string {
	return []string{
		"encoding/base64.star", "encoding/csv.star", "encoding/json.star", "encoding/yaml.star",
		"hash.star", "krmfn.star", "math.star", "re.star", "time.star",
	}
}

// leftOut returns why krmcat does not have a module that kpt's function or starlib has, "" for a
// module that they do not have either.
func leftOut(name string) string {
	switch strings.TrimSuffix(name, ".star") {
	case "http":
		return "it asks the network"
	case "xlsx":
		return "it fetches files from the network"
	case "bsoup", "html":
		return "the time and memory that it takes for a page have no bounds"
	case "geo", "zipfile":
		return "the time and memory that it takes have no bounds"
	}
	return ""
}

// noModule returns the error for a module that is neither built in nor a file; files are the names
// of the files that the script could load.
func noModule(name string, files []string) error {
	if why := leftOut(name); why != "" {
		return fmt.Errorf("krmcat has no module %s: %s. kpt's function has it: %s, as a container function", strings.TrimSuffix(name, ".star"), why, kptImage)
	}
	if strings.TrimSuffix(name, ".star") == "dataframe" {
		return errors.New("krmcat has no module dataframe, and neither has kpt's function: only later versions of starlib have it")
	}
	var stems []string
	known := slices.Concat(files, builtinModules())
	for _, k := range known {
		stems = append(stems, stem(k))
	}
	if near := spell.Nearest(stem(name), stems); near != "" {
		return fmt.Errorf("%w: did you mean %q?", errNoModule, known[slices.Index(stems, near)])
	}
	return fmt.Errorf("%w. Built in are %s", errNoModule, strings.Join(builtinModules(), ", "))
}

// stem is the name of a module without its directory and its suffix.
func stem(name string) string { return strings.TrimSuffix(path.Base(name), ".star") }

// checkNames returns an error if a file loads a name that a built-in module does not have.
func checkNames(f *syntax.File) error {
	for _, s := range f.Stmts {
		l, ok := s.(*syntax.LoadStmt)
		if !ok {
			continue
		}
		m, ok := builtinModule(l.ModuleName())
		if !ok {
			continue
		}
		for _, name := range l.From {
			if !m.Has(name.Name) {
				return fmt.Errorf("%s: load(%q): the module has no %s, but %s", name.NamePos, l.ModuleName(), name.Name, strings.Join(m.Keys(), ", "))
			}
		}
	}
	return nil
}
