package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/render"
)

// writeOutput writes resources to a file, or to an existing directory one by one.
func writeOutput(path string, items []*yaml.RNode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return writeEach(path, items)
	}
	data, err := render.YAML(items)
	if err != nil {
		return err
	}
	return writeFile(path, data)
}

// writeEach writes a file for each resource, under the name that `kustomize build -o DIR`
// gives it. All names are known good before the first is written.
func writeEach(dir string, items []*yaml.RNode) error {
	names, err := fileNames(items)
	if err != nil {
		return err
	}
	for i, n := range items {
		data, err := render.YAML([]*yaml.RNode{n})
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(dir, names[i]), data); err != nil {
			return err
		}
	}
	return nil
}

func fileNames(items []*yaml.RNode) ([]string, error) {
	spaces := map[string]bool{}
	for _, n := range items {
		if !clusterScoped(n) {
			spaces[namespaceOf(n)] = true
		}
	}
	names := make([]string, len(items))
	taken := map[string]*yaml.RNode{}
	for i, n := range items {
		name := fmt.Sprintf("%s_%s.yaml", resid.GvkFromNode(n).StringWoEmptyField(), n.GetName())
		if len(spaces) > 1 && !clusterScoped(n) {
			name = namespaceOf(n) + "_" + name
		}
		name = strings.ToLower(name)
		if strings.ContainsAny(name, `/\`) || !filepath.IsLocal(name) {
			return nil, fmt.Errorf("%s %q cannot be written to a file of its own: %q is no file name", n.GetKind(), n.GetName(), name)
		}
		if other := taken[name]; other != nil {
			return nil, fmt.Errorf("%s %q and %s %q would be written to the same file, %s",
				other.GetKind(), other.GetName(), n.GetKind(), n.GetName(), name)
		}
		taken[name], names[i] = n, name
	}
	return names, nil
}

func clusterScoped(n *yaml.RNode) bool {
	gvk := resid.GvkFromNode(n)
	return gvk.IsClusterScoped()
}

func namespaceOf(n *yaml.RNode) string {
	if ns := n.GetNamespace(); ns != "" {
		return ns
	}
	return "default"
}

// writeFile puts a file in place by rename: whoever reads it meanwhile sees the old one
// or the new one.
func writeFile(path string, data []byte) error {
	mode := fs.FileMode(0o666) // less what the user's umask takes away
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return writeInto(path, data) // a pipe or a device, such as /dev/null
		}
		mode = info.Mode().Perm() // secrets stay secret
	}
	to := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		to = real // a link stays one
	}
	tmp := filepath.Join(filepath.Dir(to), ".krmcat-"+rand.Text())
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return &notThereError{path: path, err: err}
	}
	defer func() { _ = os.Remove(tmp) }() // gone already where all went well
	_, werr := f.Write(data)
	if err := errors.Join(werr, f.Close()); err != nil {
		return &notThereError{path: path, err: err}
	}
	if err := os.Rename(tmp, to); err != nil {
		return &notThereError{path: path, err: err}
	}
	return nil
}

func writeInto(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return &notThereError{path: path, err: err}
	}
	_, werr := f.Write(data)
	if err := errors.Join(werr, f.Close()); err != nil {
		return &notThereError{path: path, err: err}
	}
	return nil
}

// writeResults writes kpt's and kyaml's results files.
func writeResults(dir string, records []render.Record) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &notThereError{path: dir, err: err}
	}
	list := make([]fnexec.Record, len(records))
	for i, rec := range records {
		list[i] = fnexec.Record{Kind: rec.Kind, Program: rec.Ref, Output: rec.Output, Failed: rec.Err != nil}
		data, err := fnexec.ResultsFile(rec.Output.Results)
		if err != nil {
			return err
		}
		if data == nil {
			continue
		}
		if err := writeFile(filepath.Join(dir, fmt.Sprintf("results-%d.yaml", i)), data); err != nil {
			return err
		}
	}
	data, err := fnexec.FunctionResultList(list)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "results.yaml"), data)
}
