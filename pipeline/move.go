package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/pipeline/internal/disk"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// mover rewrites the relative paths in a config that was written in one directory so that
// they mean the same in another one. It changes the nodes that it is given.
type mover struct {
	*compositions
	from    place  // what paths are relative to, where no name of ours stands for them
	to      string // a real directory
	outside *bool  // set where a file is named that the load restrictor would refuse
}

// stays tells whether nothing has to be rewritten.
func (m *mover) stays() bool { return m.from.dir == m.to }

// relative names a path of one directory from the other one.
func (m *mover) relative(from, path string) (string, error) {
	if from == m.to || filepath.IsAbs(path) {
		return path, nil
	}
	return relativeTo(m.to, filepath.Join(from, filepath.FromSlash(path)))
}

// config rewrites a config of any kind.
func (m *mover) config(d document) error {
	items, isList, err := d.items()
	_, apiVersion := d.field("apiVersion")
	_, kind := d.field("kind")
	switch {
	case err != nil:
		return err
	case isList:
		var errs []error
		for _, item := range items {
			errs = append(errs, m.config(item))
		}
		return errors.Join(errs...)
	case kind == nil: // it will be refused
		return nil
	case d.isComposition():
		return m.composition(d)
	case kind.Value == kustomizationKind && (apiVersion == nil || strings.HasPrefix(apiVersion.Value, kustomizeGroup+"/")):
		return errors.Join(m.paths(d, kind.Value), m.places(valueOf(d.node, catalogsField)), m.lists(d, "generators", "transformers", "validators"))
	case apiVersion == nil && slices.Contains(builtinKinds(), kind.Value), apiVersion != nil && apiVersion.Value == builtinVersion:
		return errors.Join(m.paths(d, kind.Value), m.chartHome(d, kind.Value))
	}
	return m.function(d)
}

// composition rewrites a Composition that stands in another kind's list.
func (m *mover) composition(d document) error {
	errs := []error{
		m.places(valueOf(d.node, catalogsField)),
		m.lists(d, transformersField, modulesField, overridesField),
	}
	eachAt(d.node, []string{importsField + "[]", "path"}, func(n *yaml.Node) {
		errs = append(errs, m.path(d, n, "resources[]"))
	})
	return errors.Join(errs...)
}

// lists rewrites the entries of lists of configs: configs, texts of configs, and paths.
func (m *mover) lists(d document, fields ...string) error {
	var errs []error
	for _, field := range fields {
		eachAt(d.node, []string{field + "[]"}, func(n *yaml.Node) {
			m := *m
			if f := m.ref(n.Value); f != nil && f.text.node != nil {
				*n, m.from = *yaml.NewRNode(f.text.node).Copy().YNode(), f.at
			}
			switch {
			case n.Kind == yaml.MappingNode:
				errs = append(errs, m.config(document{file: d.file, node: n}))
			case n.Kind == yaml.ScalarNode && m.ref(n.Value) != nil:
				errs = append(errs, m.path(d, n, field+"[]"+configOrPath))
			case n.Kind == yaml.ScalarNode:
				errs = append(errs, m.entry(d, n, field))
			}
		})
	}
	return errors.Join(errs...)
}

// entry rewrites an entry of a list that is text: of configs, or a path.
func (m *mover) entry(d document, n *yaml.Node, field string) error {
	copied := *n // lines are counted from it
	docs, isText, err := d.inlineText(&copied)
	if err != nil {
		return err
	}
	if !isText {
		return m.path(d, n, field+"[]"+configOrPath)
	}
	if m.stays() {
		return nil
	}
	var texts []string
	for _, doc := range docs {
		if err := m.config(doc); err != nil {
			return err
		}
		moved, err := functionConfig{document: doc}.normal()
		if err != nil {
			return err
		}
		text, err := moved.String()
		if err != nil {
			return doc.errorf(doc.node, "it cannot be written: %v", err)
		}
		texts = append(texts, text)
	}
	n.Value = strings.Join(texts, "---\n")
	return nil
}

// ref is the path that a name of ours stands for, nil for none.
func (m *mover) ref(name string) *fileRef {
	if f, ok := m.refs[name]; ok {
		return &f
	}
	return nil
}

// paths rewrites the paths of files and directories in a config.
func (m *mover) paths(d document, kind string) error {
	var errs []error
	for _, field := range pathsOf(kind) {
		if strings.HasSuffix(field, configOrPath) {
			continue // lists sees to them
		}
		named := field
		if slices.Contains(resourceKinds(), kind) {
			named = "resources[]"
		}
		eachAt(d.node, splitField(field), func(n *yaml.Node) { errs = append(errs, m.path(d, n, named)) })
	}
	return errors.Join(errs...)
}

// path rewrites one path.
func (m *mover) path(d document, n *yaml.Node, field string) error {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString {
		return nil
	}
	written, key := n.Value, ""
	f := m.ref(written)
	if f == nil && strings.HasSuffix(field, keyAndPath) && remoteForm(written) == "" {
		key, written = splitFileSource(written)
		f = m.ref(written)
	}
	switch {
	case f != nil:
	case strings.HasSuffix(field, textOrPath) && isPatchText(written):
		return nil
	default:
		f = &fileRef{written: written, at: m.from, where: d.where(n)}
	}
	moved, err := m.file(*f, field)
	if err != nil {
		return err
	}
	n.Value = moved
	if strings.HasSuffix(field, keyAndPath) && remoteForm(f.written) == "" {
		if base, _ := splitFileSource(moved); base != key || strings.Contains(moved, "=") {
			n.Value = key + "=" + moved
		}
	}
	return nil
}

// file names a file or directory from the other directory.
func (m *mover) file(f fileRef, field string) (string, error) {
	at := f.place()
	if remoteForm(f.written) != "" && !m.fsys.Exists(at.dir) {
		return f.written, nil
	}
	m.look(at, field)
	moved, err := m.relative(f.at.dir, f.written)
	if err != nil || moved == f.written {
		return moved, err
	}
	if remoteForm(moved) != "" {
		moved = "./" + moved
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: moved}
	if strings.HasSuffix(field, textOrPath) && isPatchText(moved) || strings.HasSuffix(field, configOrPath) && (document{}).isConfigText(n) {
		return "", f.errorf("%s is %q from the directory of the Composition, which would not be read as a path there", f.written, moved)
	}
	return moved, ownName(f.where, moved)
}

// look finds out whether the load restrictor would refuse a path.
func (m *mover) look(at place, field string) {
	list, _, _ := strings.Cut(field, "[")
	switch anyDir := slices.Contains([]string{"resources", "bases", "components"}, list); {
	case anyDir && slices.Contains(compositionNames(), filepath.Base(at.dir)):
	case field == chartHomeField:
		*m.outside = *m.outside || !disk.Within(m.to, filepath.Join(at.dir, "x"))
	case isFile(m.fsys, at.dir):
		dir, name, err := m.fsys.CleanedAbs(at.dir)
		*m.outside = *m.outside || err == nil && !disk.Within(m.to, dir.Join(name))
	}
}

const chartHomeField = "chartHome"

// chartHome writes down where charts are, which is beside the config where it does not say.
func (m *mover) chartHome(d document, kind string) error {
	if key, _ := d.field(chartHomeField); kind != helmGenerator || key != nil {
		return nil
	}
	home, err := m.file(fileRef{written: types.HelmDefaultHome, at: m.from, where: d.where(d.node)}, chartHomeField)
	if err == nil && !m.stays() {
		d.node.Content = append(d.node.Content, textNode(chartHomeField), textNode(home))
	}
	return err
}

func textNode(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
}

// function rewrites the runtime that the config of a function names.
func (m *mover) function(d document) error {
	in, err := functionConfig{document: d, node: yaml.NewRNode(d.node).Copy()}.inline()
	if err != nil {
		return err
	}
	runtime, err := m.inline(in)
	if err != nil {
		return d.errorf(d.node, "%v", err)
	}
	if runtime == nil {
		return nil
	}
	var n yaml.Node
	if err := n.Encode(runtime); err != nil {
		return fmt.Errorf("writing a runtime: %w", err)
	}
	functionConfig{document: d}.take(runtimeField)
	d.node.Content = append(d.node.Content, textNode(runtimeField), &n)
	return nil
}
