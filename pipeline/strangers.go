package pipeline

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// strangers are the fields of a document that a type does not have, at any depth. fold takes
// small and capital letters for one, as Go's decoder of JSON does.
func (d document) strangers(t reflect.Type, fold bool) error {
	f := &fieldCheck{document: d, fold: fold}
	f.check(d.node, t, "")
	return errors.Join(f.errs...)
}

// fieldCheck compares a document with a type.
type fieldCheck struct {
	document
	fold bool
	errs []error
}

// check compares a mapping with a type. What is of another kind than the type asks for is for
// the decoder to refuse.
func (f *fieldCheck) check(n *yaml.Node, t reflect.Type, at string) {
	switch kind := t.Kind(); {
	case kind == reflect.Pointer:
		f.check(n, t.Elem(), at)
	case kind == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			f.check(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i))
		}
	case kind == reflect.Struct && n.Kind == yaml.MappingNode:
		f.fields(n, t, at)
	}
}

func (f *fieldCheck) fields(n *yaml.Node, t reflect.Type, at string) {
	known := jsonFields(t)
	if at == "" {
		for _, name := range []string{"apiVersion", "kind"} {
			known[name] = reflect.TypeFor[string]()
		}
		if known["metadata"] == nil {
			known["metadata"] = reflect.TypeFor[types.ObjectMeta]()
		}
	}
	names := sortedKeys(known)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		is := func(k string) bool { return k == key.Value || f.fold && strings.EqualFold(k, key.Value) }
		if which := slices.IndexFunc(names, is); which >= 0 {
			f.check(n.Content[i+1], known[names[which]], strings.TrimPrefix(at+"."+key.Value, "."))
			continue
		}
		if key.Value == "" && at == "" {
			continue // the other spelling of a field that is written twice
		}
		f.errs = append(f.errs, f.stranger(key, at, names))
	}
}

// unknownFields refuses fields of a mapping that are not known.
func (d document) unknownFields(n *yaml.Node, of string, known []string) error {
	var errs []error
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			errs = append(errs, d.stranger(key, of, known))
		}
	}
	return errors.Join(errs...)
}

func (d document) stranger(key *yaml.Node, of string, known []string) error {
	msg := fmt.Sprintf("unknown field %q", key.Value)
	if of != "" {
		msg += " of " + of
	}
	return d.errorf(key, "%s%s", msg, didYouMean(key.Value, known))
}

// warnOfStrangers tells of fields that kustomize passes over without a word.
func (p *plan) warnOfStrangers(d document, t reflect.Type) {
	if t != reflect.TypeFor[struct{}]() { // a builtin of which nobody knows the fields
		p.warnOf(d.strangers(t, true))
	}
}

// warnOf makes warnings of errors about fields.
func (p *plan) warnOf(err error) {
	if err == nil {
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			p.warnOf(one)
		}
		return
	}
	if wrong, ok := err.(*SyntaxError); ok { //nolint:errorlint // strangers gives it as it is
		p.warn(wrong.Where, "kustomize passes over what stands here: "+wrong.Msg)
	}
}

// checkSpellings warns of what stands below the fields of a kustomization and means nothing to
// kustomize, which does not say so.
func (l *layer) checkSpellings(p *plan) {
	if _, schema := l.doc.field("openapi"); schema != nil && schema.Kind == yaml.MappingNode {
		p.warnOf(l.doc.unknownFields(schema, "openapi", []string{"path", "version"}))
	}
	if _, data := l.doc.field("buildMetadata"); data != nil {
		for _, n := range data.Content {
			if !slices.Contains(types.BuildMetadataOptions, n.Value) {
				p.warn(l.doc.where(n), fmt.Sprintf("kustomize passes over what stands here: unknown word %q of buildMetadata%s", n.Value, didYouMean(n.Value, types.BuildMetadataOptions)))
			}
		}
	}
	for _, r := range l.kust.Replacements {
		if r.Path != "" {
			p.checkReplacements(p.refIn(l, r.Path))
		}
	}
}

// checkReplacements does so for a file of replacements. One that cannot be read kustomize speaks of.
func (p *plan) checkReplacements(f fileRef) {
	real, err := p.confine(f)
	if err != nil {
		return
	}
	data, err := readConfigFile(p.fsys, real, f.place().display)
	if err != nil {
		return
	}
	docs, err := parseDocuments(f.place().display, data)
	if err != nil || len(docs) != 1 {
		return
	}
	t := reflect.TypeFor[types.Replacement]()
	if docs[0].node.Kind == yaml.SequenceNode {
		t = reflect.SliceOf(t)
	}
	p.warnOfStrangers(docs[0], t)
}
