package pipeline

import (
	"errors"
	"fmt"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// file is where the config stands.
func (t *transformer) file() place {
	return place{dir: filepath.Join(t.at.dir, filepath.Base(t.functionConfig.file)), display: t.functionConfig.file}
}

// readList reads the configs of a list: of transformers, or of overrides.
func (r *compositions) readList(c *composition, field string) ([]*transformer, error) {
	entries, err := c.doc.list(field)
	errs := []error{err}
	var all []*transformer
	for i, n := range entries {
		found, err := r.readEntry(c, fmt.Sprintf("%s[%d]", field, i), n)
		if !c.overriding { // without an override, a function is another one
			err = r.leaveOut(err)
		}
		errs = append(errs, err)
		all = append(all, found...)
	}
	return all, errors.Join(errs...)
}

// readEntry reads an entry: a config, the text of one, or the path of a file of configs.
func (r *compositions) readEntry(c *composition, what string, n *yaml.Node) ([]*transformer, error) {
	switch {
	case n.Kind == yaml.MappingNode:
		return r.readTransformers(c, c.at, []document{{file: c.doc.file, node: n}})
	case n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString || n.Value == "":
		return nil, c.doc.errorf(n, "%s is %s: a function config or the path of one is expected", what, describe(n))
	}
	docs, inline, err := c.doc.inlineText(n)
	if err != nil {
		return nil, err
	}
	if inline && len(docs) == 0 {
		return nil, c.doc.errorf(n, "%s holds no function config", what)
	}
	if inline {
		return r.readTransformers(c, c.at, docs)
	}
	f := fileRef{written: n.Value, at: c.at, where: c.doc.where(n)}
	if why := remoteForm(n.Value); why != "" && !r.fsys.Exists(f.place().dir) {
		return nil, f.errorf("%s: remote function configs are not supported yet: %s", n.Value, why)
	}
	if r.fsys.IsDir(f.place().dir) {
		return nil, f.errorf("%s: a directory is no list of function configs: name its files, or import a Composition by transformersFrom", n.Value)
	}
	real, err := r.confine(f)
	if err != nil {
		return nil, err
	}
	data, err := readConfigFile(r.fsys, real, f.place().display)
	if err != nil {
		return nil, err
	}
	if docs, err = parseDocuments(f.place().display, data); err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, f.errorf("%s holds no function config", n.Value)
	}
	return r.readTransformers(c, place{dir: filepath.Dir(real), display: filepath.Dir(f.place().display)}, docs)
}

// readTransformers reads configs. apiVersion may be left out of kustomize's own kinds
// (KEP-2299, in its examples).
func (r *compositions) readTransformers(c *composition, at place, docs []document) ([]*transformer, error) {
	var all []*transformer
	var errs []error
	for queue := docs; len(queue) > 0; {
		d := queue[0]
		queue = queue[1:]
		// A list of configs is taken apart, as in the lists of a Kustomization.
		items, isList, err := d.items()
		if err != nil || isList {
			queue, errs = append(queue, items...), append(errs, err)
			continue
		}
		defaultVersion(d)
		f, err := readConfig(d)
		if err == nil && c.overriding {
			err = f.checkOverride()
		}
		if err == nil {
			err = r.checkConfig(f, at)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		t := &transformer{functionConfig: f, at: at, work: c.at}
		t.declared = t
		all = append(all, t)
	}
	err := errors.Join(errs...)
	if err == nil && len(all) == 0 { // a list of none
		r.warn(docs[0].where(docs[0].node), "no function config stands here: nothing is run for it")
	}
	return all, err
}

// identity is what tells transformers apart: KEP-2299, "Notes". The namespace is empty for
// the default one, said or not: kustomize tells resources apart in the same way.
type identity struct{ apiVersion, kind, namespace, name string }

func (t *transformer) identity() identity {
	id := identity{t.id.APIVersion(), t.id.Kind, effective(t.node.GetNamespace()), t.name}
	if t.builtin && t.id.Kind == "NamespaceTransformer" {
		id.namespace = "" // there it is the one thing that is configured
	}
	return id
}

// String names a transformer for a person.
func (id identity) String() string {
	s := id.kind + " "
	if id.namespace != "" {
		s += id.namespace + "/"
	}
	return s + id.name
}

// place of the config, as a person would name it.
func (t *transformer) position() string { return t.where(t.document.node) }
