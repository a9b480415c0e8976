package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/disk"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// fileRef is a path as it stands in a file of the user's.
type fileRef struct {
	written string
	at      place  // the directory that it is relative to
	where   string // file:line

	text document // a config that stands in the place of a path; no node for none
}

// place is where the path leads, by the name a person knows it under.
func (f fileRef) place() place { return f.at.join(f.written) }

func (f fileRef) errorf(format string, args ...any) error {
	return &SyntaxError{Where: f.where, Msg: fmt.Sprintf(format, args...)}
}

func (f fileRef) missing() error {
	return &SyntaxError{Where: f.where, Msg: f.written + ": no such file or directory", missing: true}
}

// ofKustomization refuses a kustomization where its directory is meant.
func (f fileRef) ofKustomization() error {
	return f.errorf("%s names a kustomization file; name its directory", f.written)
}

// confine finds a file, and holds it to kustomize's load restriction: that it lies in or
// below the directory of the file that names it.
func (p *plan) confine(f fileRef) (string, error) {
	at := f.place()
	switch {
	case !p.fsys.Exists(at.dir):
		return "", f.missing()
	case p.fsys.IsDir(at.dir):
		return "", f.errorf("%s is a directory, and a file is expected", f.written)
	}
	dir, name, err := p.fsys.CleanedAbs(at.dir)
	if err != nil {
		return "", &SyntaxError{Where: f.where, Msg: f.written + " cannot be read", Err: err}
	}
	if real := dir.Join(name); p.options.LoadAnywhere || disk.Within(f.at.dir, real) {
		return real, nil
	}
	return "", restricted(f.where, f.written, f.at.display)
}

// ownPrefix begins the names of files that exist only for kustomize.
const ownPrefix = ".krmcat-"

// ownName refuses paths that could name one of them, and paths that kustomize may read as
// something else: as text, or as another path, since it writes them as YAML on its way,
// which folds some line breaks into spaces.
func ownName(where, path string) error {
	odd := func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\ufeff' }
	if strings.ContainsFunc(path, odd) {
		return &SyntaxError{Where: where, Msg: fmt.Sprintf("%q: there is a control character in the path", path)}
	}
	if strings.Contains(path, ownPrefix) {
		return &SyntaxError{Where: where, Msg: fmt.Sprintf("%s: names that begin with %s are krmcat's own", path, ownPrefix)}
	}
	return nil
}

// takePaths replaces every path in a config by a name of ours. Whatever is laid over the
// config later, and wherever it ends up, the name leads to the file that was meant where
// the path was written.
func (p *plan) takePaths(f functionConfig, at place) error {
	var errs []error
	for _, field := range pathsOf(f.id.Kind) {
		eachAt(f.document.node, splitField(field), func(n *yaml.Node) {
			errs = append(errs, p.takePath(f.document, n, field, at))
		})
	}
	return errors.Join(errs...)
}

func (p *plan) takePath(d document, n *yaml.Node, field string, at place) error {
	if isNull(n) && !strings.HasSuffix(strings.TrimRight(field, keyAndPath+textOrPath+configOrPath), "[]") {
		return nil
	}
	if strings.HasSuffix(field, configOrPath) && (n.Kind == yaml.MappingNode || isText(n) && d.isConfigText(n)) {
		// Its own paths are relative to where it stands, wherever an override takes it.
		text := *n
		name := p.refer(fileRef{written: "a function config", at: at, where: d.where(n), text: document{file: d.file, node: &text}})
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
	n.Value = key + p.refer(fileRef{written: written, at: at, where: d.where(n)})
	return nil
}

func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.ShortTag() == yaml.NodeTagString
}

// refer gives a path a name of ours.
func (p *plan) refer(f fileRef) string {
	name := p.ownFile("data", f.written)
	p.refs[name] = f
	return name
}

// isConfigText tells the text of a function config from its path.
func (d document) isConfigText(n *yaml.Node) bool {
	_, inline, err := d.inlineText(n)
	return inline || err != nil
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

// link serves a file under the name that stands for it, in one directory.
func (p *plan) link(name, root string) error {
	f := p.refs[name]
	if why := remoteForm(f.written); why != "" && !p.fsys.Exists(f.place().dir) {
		return f.errorf("%s: it cannot be remote yet: %s", f.written, why)
	}
	real, err := p.confine(f)
	if err != nil {
		return err
	}
	p.serveLink(name, root, bridge.Link{File: real, Within: f.at.dir})
	return nil
}

func (p *plan) serveLink(name, root string, l bridge.Link) {
	if p.options.LoadAnywhere {
		l.Within = ""
	}
	p.overlay.Links[filepath.Join(root, name)] = l
}

// relativeTo writes the path of a directory as kustomize wants it: relative to another one.
func relativeTo(from, to string) (string, error) {
	rel, err := filepath.Rel(from, to)
	if err != nil {
		return "", fmt.Errorf("naming %s from %s: %w", to, from, err)
	}
	return filepath.ToSlash(rel), nil
}
