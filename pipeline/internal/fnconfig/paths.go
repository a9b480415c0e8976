package fnconfig

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// ResourcePaths lists the paths of an accumulator, under either name of the list.
func (c Config) ResourcePaths() ([]*yaml.Node, error) {
	fkey, _ := c.Field("files")
	pkey, _ := c.Field("paths")
	if fkey != nil && pkey != nil {
		return nil, c.Errorf(pkey, "files and paths are two names of one list: use one")
	}
	nodes := PathsIn(c)
	if len(nodes) == 0 {
		return nil, c.Errorf(c.Document.Node, "a %s needs a list of files", c.ID.Kind)
	}
	return nodes, nil
}

// Paths has the names that krmcat writes in place of paths of the user, and of files that exist
// only for kustomize.
type Paths struct {
	Written map[string]string         // the path that the user wrote, by name
	Refs    map[string]source.FileRef // the paths in configs, by name
}

// NewPaths returns Paths without names.
func NewPaths() *Paths {
	return &Paths{Written: map[string]string{}, Refs: map[string]source.FileRef{}}
}

// TakePaths replaces every path in a config by a name. The name means the file that the path meant
// where it was written, whichever overrides are applied later, and wherever the config is moved.
func (ps *Paths) TakePaths(f Config, at source.Place) error {
	var errs []error
	for _, field := range PathsOf(f.ID.Kind) {
		EachAt(f.Document.Node, field, func(n *yaml.Node) {
			errs = append(errs, ps.takePath(f.Document, n, field, at))
		})
	}
	return errors.Join(errs...)
}

func (ps *Paths) takePath(d source.Document, n *yaml.Node, field string, at source.Place) error {
	if yamldoc.IsNull(n) && !strings.HasSuffix(strings.TrimRight(field, KeyAndPath+TextOrPath+ConfigOrPath), "[]") {
		return nil
	}
	if strings.HasSuffix(field, ConfigOrPath) && (n.Kind == yaml.MappingNode || source.IsText(n) && d.IsConfigText(n)) {
		// Its own paths are relative to its position, wherever an override moves it.
		text := *n
		name := ps.Refer(source.FileRef{Written: "a function config", At: at, Where: d.Where(n), Text: source.Document{File: d.File, Node: &text}})
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: name, Line: n.Line}
		return nil
	}
	if !source.IsText(n) {
		return d.Errorf(n, "a path is expected, this is %s", yamldoc.Describe(n))
	}
	written, key := n.Value, ""
	switch {
	case written == "":
		return d.Errorf(n, "a path is expected, this one is empty")
	case strings.HasSuffix(field, TextOrPath) && IsPatchText(written):
		return nil
	case strings.HasSuffix(field, KeyAndPath) && source.RemoteForm(written) == "":
		key, written = SplitFileSource(written)
		key += "="
	}
	if err := source.OwnName(d.Where(n), written); err != nil {
		return err
	}
	n.Value = key + ps.Refer(source.FileRef{Written: written, At: at, Where: d.Where(n)})
	return nil
}

// Refer returns a name for a path.
func (ps *Paths) Refer(f source.FileRef) string {
	name := ps.OwnFile("data", f.Written)
	ps.Refs[name] = f
	return name
}

// IsPatchText reports whether an entry is the text of a patch and not its path.
func IsPatchText(s string) bool {
	return strings.ContainsAny(s, "\n{:") && source.RemoteForm(s) == ""
}

// EachAt calls do for every node at a path of field names, joined by dots. A name that ends in []
// is a list, and means its items.
func EachAt(n *yaml.Node, path string, do func(*yaml.Node)) {
	if path == "" {
		do(n)
		return
	}
	name, rest, _ := strings.Cut(path, ".")
	name = strings.TrimRight(name, KeyAndPath+TextOrPath+ConfigOrPath)
	v := yamldoc.Field(n, strings.TrimSuffix(name, "[]"))
	switch {
	case yamldoc.IsNull(v):
	case !strings.HasSuffix(name, "[]"):
		EachAt(v, rest, do)
	case v.Kind == yaml.SequenceNode:
		for _, item := range v.Content {
			EachAt(item, rest, do)
		}
	}
}

// Suffixes of the fields that may have more than a path.
const (
	KeyAndPath   = "=" // [key=]path
	TextOrPath   = "?" // the text of a patch, or its path
	ConfigOrPath = "!" // a function config, its text, or its path
)

// PathsOf lists the fields of a kind that name files or directories.
func PathsOf(kind string) []string {
	switch kind {
	case "PatchTransformer", "PatchJson6902Transformer":
		return []string{"path"}
	case "PatchStrategicMergeTransformer":
		return []string{"paths[]?"}
	case "ReplacementTransformer":
		return []string{"replacements[].path"}
	case "ValueAddTransformer":
		return []string{"targetFilePath"}
	case "ConfigMapGenerator", "SecretGenerator":
		return []string{"files[]=", "envs[]", "env"}
	case HelmGenerator:
		return []string{"chartHome", "valuesFile"}
	case "ResourceAccumulator", "ResourceGenerator":
		return []string{"files[]", "paths[]"}
	case source.KustomizationKind:
		return []string{
			"resources[]", "bases[]", "components[]", "crds[]", "configurations[]", "openapi.path",
			"patches[].path", "patchesStrategicMerge[]?", "patchesJson6902[].path", "replacements[].path",
			"configMapGenerator[].files[]=", "configMapGenerator[].envs[]", "configMapGenerator[].env",
			"secretGenerator[].files[]=", "secretGenerator[].envs[]", "secretGenerator[].env",
			"generators[]!", "transformers[]!", "validators[]!",
		}
	}
	return nil
}

// OwnFile returns the name of a virtual file that replaces original.
func (ps *Paths) OwnFile(ending, original string) string {
	name := fmt.Sprintf("%s%d.%s", source.OwnPrefix, len(ps.Written), ending)
	ps.Written[name] = original
	return name
}

// SplitFileSource splits [key=]path.
func SplitFileSource(s string) (key, file string) {
	if key, file, ok := strings.Cut(s, "="); ok {
		return key, file
	}
	return path.Base(s), s
}

// PathsIn returns the nodes of a config that are paths.
func PathsIn(c Config) []*yaml.Node {
	var all []*yaml.Node
	for _, field := range PathsOf(c.ID.Kind) {
		EachAt(c.Document.Node, field, func(n *yaml.Node) { all = append(all, n) })
	}
	return all
}
