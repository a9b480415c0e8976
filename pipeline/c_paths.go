package pipeline

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// resourcePaths lists the paths of an accumulator, under either name of the list.
func (c functionConfig) resourcePaths() ([]*yaml.Node, error) {
	fkey, _ := c.field("files")
	pkey, _ := c.field("paths")
	if fkey != nil && pkey != nil {
		return nil, c.errorf(pkey, "files and paths are two names of one list: use one")
	}
	nodes := pathsIn(c)
	if len(nodes) == 0 {
		return nil, c.errorf(c.document.node, "a %s needs a list of files", c.id.Kind)
	}
	return nodes, nil
}

// splitField takes the name of a field at any depth apart.
func splitField(field string) []string { return strings.Split(field, ".") }

// paths are the names of ours that stand for paths of the user's, or for files that exist only for
// kustomize.
type paths struct {
	written map[string]string  // what the user wrote, by name
	refs    map[string]fileRef // where it leads, of those that stand for paths in configs
}

func newPaths() *paths { return &paths{written: map[string]string{}, refs: map[string]fileRef{}} }

// takePaths replaces every path in a config by a name of ours. Whatever is laid over the
// config later, and wherever it ends up, the name leads to the file that was meant where
// the path was written.
func (ps *paths) takePaths(f functionConfig, at place) error {
	var errs []error
	for _, field := range pathsOf(f.id.Kind) {
		eachAt(f.document.node, splitField(field), func(n *yaml.Node) {
			errs = append(errs, ps.takePath(f.document, n, field, at))
		})
	}
	return errors.Join(errs...)
}

func (ps *paths) takePath(d document, n *yaml.Node, field string, at place) error {
	if isNull(n) && !strings.HasSuffix(strings.TrimRight(field, keyAndPath+textOrPath+configOrPath), "[]") {
		return nil
	}
	if strings.HasSuffix(field, configOrPath) && (n.Kind == yaml.MappingNode || isText(n) && d.isConfigText(n)) {
		// Its own paths are relative to where it stands, wherever an override takes it.
		text := *n
		name := ps.refer(fileRef{written: "a function config", at: at, where: d.where(n), text: document{file: d.file, node: &text}})
		*n = yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: name, Line: n.Line}
		return nil
	}
	if !isText(n) {
		return d.errorf(n, "a path is expected, this is %s", describe(n))
	}
	written, key := n.Value, ""
	switch {
	case written == "":
		return d.errorf(n, "a path is expected, this one is empty")
	case strings.HasSuffix(field, textOrPath) && isPatchText(written):
		return nil
	case strings.HasSuffix(field, keyAndPath) && remoteForm(written) == "":
		key, written = splitFileSource(written)
		key += "="
	}
	if err := ownName(d.where(n), written); err != nil {
		return err
	}
	n.Value = key + ps.refer(fileRef{written: written, at: at, where: d.where(n)})
	return nil
}

// refer gives a path a name of ours.
func (ps *paths) refer(f fileRef) string {
	name := ps.ownFile("data", f.written)
	ps.refs[name] = f
	return name
}

// isPatchText tells the text of a patch from its path, in lists that may hold either.
func isPatchText(s string) bool {
	return strings.ContainsAny(s, "\n{:") && remoteForm(s) == ""
}

// eachAt calls do for every node at a path of field names; a name that ends in [] stands
// for the items of a list.
func eachAt(n *yaml.Node, path []string, do func(*yaml.Node)) {
	if len(path) == 0 {
		do(n)
		return
	}
	rest := path[1:]
	name := strings.TrimRight(path[0], keyAndPath+textOrPath+configOrPath)
	list := strings.HasSuffix(name, "[]")
	_, v := lookup(n, strings.TrimSuffix(name, "[]"))
	switch {
	case v == nil || isNull(v):
	case !list:
		eachAt(v, rest, do)
	case v.Kind == yaml.SequenceNode:
		for _, item := range v.Content {
			eachAt(item, rest, do)
		}
	}
}

// The marks behind a field that holds more than a path.
const (
	keyAndPath = "=" // [key=]path
	textOrPath = "?" // the text of a patch, or its path

	configOrPath = "!" // a function config, its text, or its path
)

// pathsOf lists the fields of a kind that name files or directories.
func pathsOf(kind string) []string {
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
	case helmGenerator:
		return []string{"chartHome", "valuesFile"}
	case "ResourceAccumulator", "ResourceGenerator":
		return []string{"files[]", "paths[]"}
	case kustomizationKind:
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

// ownFile is a new name of a file that exists only for kustomize, in the place of original.
func (ps *paths) ownFile(ending, original string) string {
	name := fmt.Sprintf("%s%d.%s", ownPrefix, len(ps.written), ending)
	ps.written[name] = original
	return name
}

// splitFileSource takes [key=]path apart.
func splitFileSource(s string) (key, file string) {
	if key, file, ok := strings.Cut(s, "="); ok {
		return key, file
	}
	return path.Base(s), s
}

// pathsIn gives the nodes of a config that hold paths.
func pathsIn(c functionConfig) []*yaml.Node {
	var all []*yaml.Node
	for _, field := range pathsOf(c.id.Kind) {
		eachAt(c.document.node, splitField(field), func(n *yaml.Node) { all = append(all, n) })
	}
	return all
}
