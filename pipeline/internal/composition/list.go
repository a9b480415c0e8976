package composition

import (
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// File is the file of the config.
func (t *Transformer) File() source.Place {
	return source.Place{Dir: filepath.Join(t.At.Dir, filepath.Base(t.Config.File)), Display: t.Config.File}
}

// readList reads the configs of a list: of transformers, or of overrides.
func (r *Reader) readList(c *composition, field string) ([]*Transformer, error) {
	entries, err := c.Doc.List(field)
	errs := []error{err}
	var all []*Transformer
	for i, n := range entries {
		found, err := r.readEntry(c, fmt.Sprintf("%s[%d]", field, i), n)
		if !c.overriding { // overrides are never omitted: the function would be another one
			err = r.LeaveOut(err)
		}
		errs = append(errs, err)
		all = append(all, found...)
	}
	return all, errors.Join(errs...)
}

// readEntry reads an entry: a config, the text of one, or the path of a file of configs.
func (r *Reader) readEntry(c *composition, what string, n *yaml.Node) ([]*Transformer, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		return r.readTransformers(c, c.at, []source.Document{{File: c.Doc.File, Node: n}})
	case n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString || n.Value == "":
		return nil, c.Doc.Errorf(n, "%s is %s: a function config or the path of one is expected", what, yamldoc.Describe(n))
	}
	docs, inline, err := c.Doc.InlineText(n)
	if err != nil {
		return nil, err
	}
	if inline && len(docs) == 0 {
		return nil, c.Doc.Errorf(n, "%s holds no function config", what)
	}
	if inline {
		return r.readTransformers(c, c.at, docs)
	}
	f := source.FileRef{Written: n.Value, At: c.at, Where: c.Doc.Where(n)}
	if err := r.NotRemote(f, "remote function configs are not supported yet"); err != nil {
		return nil, err
	}
	if r.FS.IsDir(f.Place().Dir) {
		return nil, f.Errorf("%s: a directory is no list of function configs: name its files, or import a Composition by transformersFrom", n.Value)
	}
	docs, dir, err := r.Documents(f)
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, f.Errorf("%s holds no function config", n.Value)
	}
	return r.readTransformers(c, dir, docs)
}

// readTransformers reads configs. apiVersion may be left out of kustomize's own kinds
// (KEP-2299, in its examples).
func (r *Reader) readTransformers(c *composition, at source.Place, docs []source.Document) ([]*Transformer, error) {
	var all []*Transformer
	where := docs[0].Where(docs[0].Node)
	docs, err := source.Expand(docs)
	errs := []error{err}
	for _, d := range docs {
		fnconfig.DefaultVersion(d)
		f, err := fnconfig.ReadConfig(d)
		if err == nil && c.overriding {
			err = f.CheckOverride()
		}
		if err == nil {
			err = r.CheckConfig(f, at)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t := &Transformer{Config: f, At: at, work: c.at}
		t.Declared = t
		all = append(all, t)
	}
	err = errors.Join(errs...)
	if err == nil && len(all) == 0 { // an empty list
		r.Warn(where, "there is no function config here: nothing is run for it")
	}
	return all, err
}

// identity identifies a transformer (KEP-2299, "Notes"). The default namespace is empty, whether it
// is written or not, as in kustomize.
type identity struct{ apiVersion, kind, namespace, name string }

func (t *Transformer) identity() identity {
	id := identity{t.ID.APIVersion(), t.ID.Kind, effective(t.Node.GetNamespace()), t.Name}
	if t.Builtin && t.ID.Kind == "NamespaceTransformer" {
		id.namespace = "" // for this builtin it is a setting
	}
	return id
}

// String names a transformer in messages.
func (id identity) String() string {
	s := id.kind + " "
	if id.namespace != "" {
		s += id.namespace + "/"
	}
	return s + id.name
}

// Position returns the position of the config.
func (t *Transformer) Position() string { return t.Where(t.Document.Node) }
