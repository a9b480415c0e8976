package composition

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// mover rewrites the relative paths in a config so that they mean the same in another directory. It
// changes the nodes in place.
type mover struct {
	*Reader
	from    source.Place // the directory that paths are relative to, unless they are replaced by names
	to      string       // a real directory
	outside *bool        // set if the load restrictor does not permit a file
}

// unmoved reports whether both directories are the same.
func (m *mover) unmoved() bool { return m.from.Dir == m.to }

// relative rewrites a path of one directory relative to the other one.
func (m *mover) relative(from, path string) (string, error) {
	if from == m.to || filepath.IsAbs(path) {
		return path, nil
	}
	return source.RelativeTo(m.to, filepath.Join(from, filepath.FromSlash(path)))
}

// config rewrites a config of any kind.
func (m *mover) config(d source.Document) error {
	items, isList, err := d.Items()
	_, apiVersion := d.Field("apiVersion")
	_, kind := d.Field("kind")
	switch {
	case err != nil:
		return err
	case isList:
		var errs []error
		for _, item := range items {
			errs = append(errs, m.config(item))
		}
		return errors.Join(errs...)
	case kind == nil: // it is refused later
		return nil
	case d.IsComposition():
		return m.composition(d)
	case kind.Value == source.KustomizationKind && (apiVersion == nil || strings.HasPrefix(apiVersion.Value, source.KustomizeGroup+"/")):
		return errors.Join(m.paths(d, kind.Value), m.places(yamldoc.Field(d.Node, source.CatalogsField)), m.lists(d, "generators", "transformers", "validators"))
	case apiVersion == nil && slices.Contains(fnconfig.BuiltinKinds(), kind.Value), apiVersion != nil && apiVersion.Value == fnconfig.BuiltinVersion:
		return errors.Join(m.paths(d, kind.Value), m.chartHome(d, kind.Value))
	}
	return m.function(d)
}

// composition rewrites a Composition in a list of another kind.
func (m *mover) composition(d source.Document) error {
	errs := []error{
		m.places(yamldoc.Field(d.Node, source.CatalogsField)),
		m.lists(d, transformersField, modulesField, overridesField),
	}
	fnconfig.EachAt(d.Node, importsField+"[].path", func(n *yaml.Node) {
		errs = append(errs, m.path(d, n, "resources[]"))
	})
	return errors.Join(errs...)
}

// lists rewrites lists of configs: configs, texts of configs, and paths.
func (m *mover) lists(d source.Document, fields ...string) error {
	var errs []error
	for _, field := range fields {
		fnconfig.EachAt(d.Node, field+"[]", func(n *yaml.Node) {
			m := *m
			if f := m.ref(n.Value); f != nil && f.Text.Node != nil {
				*n, m.from = *yaml.NewRNode(f.Text.Node).Copy().YNode(), f.At
			}
			switch {
			case n.Kind == yaml.MappingNode:
				errs = append(errs, m.config(source.Document{File: d.File, Node: n}))
			case n.Kind == yaml.ScalarNode && m.ref(n.Value) != nil:
				errs = append(errs, m.path(d, n, field+"[]"+fnconfig.ConfigOrPath))
			case n.Kind == yaml.ScalarNode:
				errs = append(errs, m.entry(d, n, field))
			}
		})
	}
	return errors.Join(errs...)
}

// entry rewrites an entry of a list that is text: of configs, or a path.
func (m *mover) entry(d source.Document, n *yaml.Node, field string) error {
	copied := *n // lines are counted from it
	docs, isText, err := d.InlineText(&copied)
	if err != nil {
		return err
	}
	if !isText {
		return m.path(d, n, field+"[]"+fnconfig.ConfigOrPath)
	}
	if m.unmoved() {
		return nil
	}
	var texts []string
	for _, doc := range docs {
		if err := m.config(doc); err != nil {
			return err
		}
		moved, err := fnconfig.Config{Document: doc}.Normal()
		if err != nil {
			return err
		}
		text, err := moved.String()
		if err != nil {
			return doc.Errorf(doc.Node, "it cannot be written: %v", err)
		}
		texts = append(texts, text)
	}
	n.Value = strings.Join(texts, "---\n")
	return nil
}

// ref returns the path that a name replaces, nil for none.
func (m *mover) ref(name string) *source.FileRef {
	if f, ok := m.Refs[name]; ok {
		return &f
	}
	return nil
}

// paths rewrites the paths of files and directories in a config.
func (m *mover) paths(d source.Document, kind string) error {
	var errs []error
	for _, field := range fnconfig.PathsOf(kind) {
		if strings.HasSuffix(field, fnconfig.ConfigOrPath) {
			continue // see lists
		}
		named := field
		if slices.Contains(fnconfig.ResourceKinds(), kind) {
			named = "resources[]"
		}
		fnconfig.EachAt(d.Node, field, func(n *yaml.Node) { errs = append(errs, m.path(d, n, named)) })
	}
	return errors.Join(errs...)
}

// path rewrites one path.
func (m *mover) path(d source.Document, n *yaml.Node, field string) error {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString {
		return nil
	}
	written, key := n.Value, ""
	f := m.ref(written)
	if f == nil && strings.HasSuffix(field, fnconfig.KeyAndPath) && source.RemoteForm(written) == "" {
		key, written = fnconfig.SplitFileSource(written)
		f = m.ref(written)
	}
	switch {
	case f != nil:
	case strings.HasSuffix(field, fnconfig.TextOrPath) && fnconfig.IsPatchText(written):
		return nil
	default:
		f = &source.FileRef{Written: written, At: m.from, Where: d.Where(n)}
	}
	moved, err := m.file(*f, field)
	if err != nil {
		return err
	}
	n.Value = moved
	if strings.HasSuffix(field, fnconfig.KeyAndPath) && source.RemoteForm(f.Written) == "" {
		if base, _ := fnconfig.SplitFileSource(moved); base != key || strings.Contains(moved, "=") {
			n.Value = key + "=" + moved
		}
	}
	return nil
}

// file returns the path of a file or directory relative to the other directory.
func (m *mover) file(f source.FileRef, field string) (string, error) {
	at := f.Place()
	if source.RemoteForm(f.Written) != "" && !m.FS.Exists(at.Dir) {
		return f.Written, nil
	}
	m.look(at, field)
	moved, err := m.relative(f.At.Dir, f.Written)
	if err != nil || moved == f.Written {
		return moved, err
	}
	if source.RemoteForm(moved) != "" {
		moved = "./" + moved
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: moved}
	if strings.HasSuffix(field, fnconfig.TextOrPath) && fnconfig.IsPatchText(moved) || strings.HasSuffix(field, fnconfig.ConfigOrPath) && (source.Document{}).IsConfigText(n) {
		return "", f.Errorf("%s is %q from the directory of the Composition, which would not be read as a path there", f.Written, moved)
	}
	return moved, source.OwnName(f.Where, moved)
}

// look sets outside if the load restrictor does not permit a path.
func (m *mover) look(at source.Place, field string) {
	list, _, _ := strings.Cut(field, "[")
	switch anyDir := slices.Contains([]string{"resources", "bases", "components"}, list); {
	case anyDir && slices.Contains(source.CompositionNames(), filepath.Base(at.Dir)):
	case field == chartHomeField:
		*m.outside = *m.outside || !disk.Within(m.to, filepath.Join(at.Dir, "x"))
	case source.IsFile(m.FS, at.Dir):
		dir, name, err := m.FS.CleanedAbs(at.Dir)
		*m.outside = *m.outside || err == nil && !disk.Within(m.to, dir.Join(name))
	}
}

const chartHomeField = "chartHome"

// chartHome adds the directory of charts, which is beside the config by default.
func (m *mover) chartHome(d source.Document, kind string) error {
	if key, _ := d.Field(chartHomeField); kind != fnconfig.HelmGenerator || key != nil {
		return nil
	}
	home, err := m.file(source.FileRef{Written: types.HelmDefaultHome, At: m.from, Where: d.Where(d.Node)}, chartHomeField)
	if err == nil && !m.unmoved() {
		d.Node.Content = append(d.Node.Content, textNode(chartHomeField), textNode(home))
	}
	return err
}

func textNode(s string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: s}
}

// function rewrites the runtime that the config of a function names.
func (m *mover) function(d source.Document) error {
	in, err := fnconfig.Config{Document: d, Node: yaml.NewRNode(d.Node).Copy()}.Inline()
	if err != nil {
		return err
	}
	runtime, err := m.inline(in)
	if err != nil {
		return d.Errorf(d.Node, "%v", err)
	}
	if runtime == nil {
		return nil
	}
	var n yaml.Node
	if err := n.Encode(runtime); err != nil {
		return fmt.Errorf("writing a runtime: %w", err)
	}
	fnconfig.Config{Document: d}.Take(fnconfig.RuntimeField)
	d.Node.Content = append(d.Node.Content, textNode(fnconfig.RuntimeField), &n)
	return nil
}
