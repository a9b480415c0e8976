package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
)

// filed is a resource and its place in an output directory.
type filed struct {
	*yaml.RNode
	path    string // clean, with slashes
	index   int
	indexed bool // otherwise it comes last in its file
}

// String names the resource in messages.
func (f filed) String() string { return fmt.Sprintf("%s %q", f.GetKind(), f.GetName()) }

// layout says which file of an output directory has which resources. Resources that stand in a
// file, or that a function put into one, keep it. The others get the names that kustomize gives
// them; in a Composition they get those of kyaml, if another resource stands in a file.
func layout(out render.Output) (map[string][]filed, error) {
	var rest []*yaml.RNode
	for i, n := range out.Items {
		if out.Files[i].Path == "" {
			rest = append(rest, n)
		}
	}
	byRule := out.Kind == pipeline.CompositionKind && len(rest) < len(out.Items)
	names, err := fileNames(rest)
	if err != nil && !byRule {
		return nil, err
	}
	files := map[string][]filed{}
	for i, n := range out.Items {
		f := filed{RNode: n}
		switch {
		case out.Files[i].Path != "":
			if err := f.stand(out.Files[i]); err != nil {
				return nil, err
			}
		case byRule:
			f.path = annotation.DefaultPath(n.YNode())
		default:
			f.path, names = names[0], names[1:]
		}
		files[f.path] = append(files[f.path], f)
	}
	for _, list := range files {
		slices.SortStableFunc(list, func(a, b filed) int {
			switch {
			case a.indexed == b.indexed:
				return cmp.Compare(a.index, b.index)
			case a.indexed:
				return -1
			}
			return 1
		})
	}
	return files, apart(files)
}

// maxPath is the maximum length of a path in an output directory, in bytes.
const maxPath = 1024

// stand sets the place of a resource to a file, which a function may have named.
func (f *filed) stand(file pipeline.File) error {
	no := func(why string) error {
		return failure.NotPermitted.Mark(fmt.Errorf("%s cannot be written to its file: the path %.200q %s", f, file.Path, why))
	}
	f.path = path.Clean(file.Path)
	odd := func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }
	switch {
	case len(file.Path) > maxPath:
		return no(fmt.Sprintf("has %d bytes, the limit is %d", len(file.Path), maxPath))
	case strings.ContainsFunc(file.Path, odd):
		return no("has a control character, or is not UTF-8")
	case strings.Contains(file.Path, `\`):
		return no("has a backslash: directories are separated by slashes")
	case path.IsAbs(f.path) || filepath.IsAbs(f.path):
		return no("is absolute")
	case !filepath.IsLocal(filepath.FromSlash(f.path)):
		return no("leads out of the directory")
	case f.path == "." || strings.HasSuffix(file.Path, "/"):
		return no("names a directory")
	}
	for name := range strings.SplitSeq(f.path, "/") {
		switch {
		case strings.EqualFold(name, ".git"):
			return no("is in " + name + ", which is git's own")
		case strings.HasPrefix(name, scratch.TempPrefix):
			return no("has a name that begins with " + scratch.TempPrefix + ", as krmcat's temporary files do")
		}
	}
	if file.Index == "" {
		return nil
	}
	var err error
	if f.index, err = strconv.Atoi(file.Index); err != nil {
		return fmt.Errorf("%s cannot be written to %s: its index %.40q is not a number", f, f.path, file.Index)
	}
	f.indexed = true
	return nil
}

// apart returns an error if two files cannot both exist: one has the name of a directory of the
// other, or only a file system that distinguishes case tells them apart.
func apart(files map[string][]filed) error {
	dirs, taken := map[string]string{}, map[string]string{} // a path in them, in lower case
	for _, p := range slices.Sorted(maps.Keys(files)) {
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			key := strings.ToLower(dir)
			if other, ok := dirs[key]; !ok {
				dirs[key] = p
			} else if !strings.HasPrefix(other, dir+"/") {
				return together(files, other, p, "their directories differ only in case")
			}
		}
		if other, ok := taken[strings.ToLower(p)]; ok {
			return together(files, other, p, "the paths differ only in case")
		}
		taken[strings.ToLower(p)] = p
	}
	for _, p := range slices.Sorted(maps.Keys(files)) {
		if other, ok := dirs[strings.ToLower(p)]; ok {
			return together(files, p, other, "the first is a directory of the second")
		}
	}
	return nil
}

func together(files map[string][]filed, a, b, why string) error {
	return fmt.Errorf("%s and %s cannot be written to %s and %s: %s", files[a][0], files[b][0], a, b, why)
}

// content prints the resources of a file: as JSON if that is its extension, otherwise as YAML.
func content(name string, list []filed) ([]byte, error) {
	items := make(resources, len(list))
	for i, f := range list {
		items[i] = f.RNode
	}
	if path.Ext(name) != ".json" {
		return render.YAML(items)
	}
	var v any = resourcesView{"v1", "List", items} // JSON has no documents
	if len(items) == 1 {
		list, err := items.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("printing %s %q: %w", items[0].GetKind(), items[0].GetName(), err)
		}
		list = bytes.TrimSpace(list)
		v = json.RawMessage(list[1 : len(list)-1])
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("printing the resources of %s: %w", name, err)
	}
	return out.Bytes(), nil
}
