package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/render"
)

// toStdout is the name of stdout where a file is expected.
const toStdout = "-"

// writeOutput writes resources to the place of -o: a file, or the files of an existing
// directory.
func (e *env) writeOutput(c *cli.Context, o *outputCall, out render.Output) error {
	if isDir(o.place) {
		return e.writeEach(c.Context, o.place, out)
	}
	return e.show(c, o, resourcesView{"v1", "List", out.Items})
}

// resourcesView prints resources as kubectl does: as a List, and in YAML as a stream of documents.
type resourcesView struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Items      resources `json:"items"`
}

// resources are encoded as JSON without escapes for HTML, which an RNode would add.
type resources []*yaml.RNode

// MarshalJSON implements json.Marshaler.
func (r resources) MarshalJSON() ([]byte, error) {
	list := make([]any, len(r))
	for i, n := range r {
		data, err := n.MarshalJSON()
		if err != nil {
			return nil, err
		}
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&list[i]); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(list)
	return b.Bytes(), err
}

// YAML implements ui.YAMLer.
func (v resourcesView) YAML() ([]byte, error) { return render.YAML(v.Items) }

// Loose implements ui.Loose.
func (resourcesView) Loose() {}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return path != "" && path != toStdout && err == nil && info.IsDir()
}

// fileOnWay returns the file that is at a path, or above it, where a directory has to be. It is ""
// if there is none, and for stdout.
func fileOnWay(path string) string {
	if path == toStdout {
		return ""
	}
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		info, err := os.Stat(p)
		switch {
		case err == nil && !info.IsDir():
			return p
		case err == nil || p == filepath.Dir(p):
			return ""
		}
	}
}

// put writes data to a file that the user named, or to stdout if there is none. A file that stdout
// already writes to, such as /dev/stdout, is not replaced.
func (e *env) put(path string, data []byte) error {
	if path == "" || path == toStdout {
		return e.write(data)
	}
	if f, ok := e.Stdout.(*os.File); ok {
		out, err := f.Stat()
		named, nerr := os.Stat(path)
		if err == nil && nerr == nil && os.SameFile(out, named) {
			return e.write(data)
		}
	}
	return e.writeFile(path, data)
}

// writeEach writes resources into the files of a directory. All paths are checked before the first
// file is written.
func (e *env) writeEach(ctx context.Context, dir string, out render.Output) error {
	byPath, err := layout(out)
	if err != nil {
		return err
	}
	var files []outputFile
	for _, name := range slices.Sorted(maps.Keys(byPath)) {
		data, err := content(name, byPath[name])
		if err != nil {
			return err
		}
		files = append(files, outputFile{filepath.FromSlash(name), data})
	}
	return e.writeFiles(dir, files, ctx.Err)
}

// fileNames returns the names that `kustomize build -o DIR` gives to the files of resources.
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
			return nil, failure.NotPermitted.Mark(fmt.Errorf("%s %q cannot be written to a file of its own: %q is no file name", n.GetKind(), n.GetName(), name))
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

// writeFile replaces a file by a rename, so that readers see either the old or the new content.
func (e *env) writeFile(path string, data []byte) error {
	mode := newFileMode
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return writeInto(path, data) // a pipe or a device, such as /dev/null
		}
		mode = info.Mode().Perm() // secrets stay secret
	}
	to, err := follow(path)
	if err != nil {
		return &notThereError{path: path, err: err}
	}
	if err := e.replace(to, data, mode); err != nil {
		return &notThereError{path: path, err: err}
	}
	return nil
}

// newFileMode is the mode of a new file, before the umask.
const newFileMode fs.FileMode = 0o666

// replace writes a file and renames it. A link is replaced, not followed.
func (e *env) replace(path string, data []byte, mode fs.FileMode) error {
	defer e.Leave.Hold()() // the temporary file is removed
	return scratch.File{Path: path, Mode: mode, Output: true}.Write(data)
}

// maxLinks limits the links that are followed, as operating systems do.
const maxLinks = 40

// follow returns the file that a path leads to, so that a link stays a link. The file need not
// exist.
func follow(path string) (string, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real, nil
	}
	for range maxLinks {
		next, err := os.Readlink(path)
		if err != nil {
			return path, nil //nolint:nilerr // it is not a link, or does not exist
		}
		if !filepath.IsAbs(next) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			next = filepath.Join(dir, next)
		}
		path = next
	}
	return "", failure.NotPermitted.Mark(errors.New("its links form a circle"))
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
