package composition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"

	k8syaml "sigs.k8s.io/yaml"
)

// value returns the config of a transformer as it is in a Composition.
func (c *Consolidated) value(t ConsolidatedTransformer) (map[string]any, error) {
	if t.Step == nil {
		config := t.config.Copied()
		if err := c.mover(t.of.At).config(config.Document); err != nil {
			return nil, err
		}
		v, err := config.Value()
		if key, _ := t.of.Field("apiVersion"); key != nil && key.Line == 0 {
			delete(v, "apiVersion") // it was added when it was read
		}
		return v, err
	}
	v, err := fnconfig.Config{Document: source.Document{File: t.Step.Where, Node: t.Step.Config.YNode()}}.Value()
	if err != nil {
		return nil, err
	}
	runtime, err := c.mover(source.Place{Dir: t.Step.Dir}).inline(t.Step.RunsBy())
	if err != nil {
		return nil, &source.SyntaxError{Where: t.Step.Where, Msg: err.Error()}
	}
	if runtime != nil {
		v[fnconfig.RuntimeField] = runtime
	}
	return v, nil
}

// object returns the Composition as a value.
func (c *Consolidated) object() (map[string]any, error) {
	list := make([]any, len(c.Transformers))
	var errs []error
	for i, t := range c.Transformers {
		v, err := c.value(t)
		list[i], errs = v, append(errs, err)
	}
	o := map[string]any{"apiVersion": source.CompositionAPIVersion, "kind": source.CompositionKind, transformersField: list}
	if len(c.Catalogs) > 0 {
		o[source.CatalogsField] = c.Catalogs
	}
	if !yamldoc.IsNull(c.metadata) {
		var meta map[string]any
		errs = append(errs, c.metadata.Decode(&meta))
		o["metadata"] = meta
	}
	return o, errors.Join(errs...)
}

// MarshalJSON writes the Composition as JSON.
func (c *Consolidated) MarshalJSON() ([]byte, error) {
	o, err := c.object()
	if err != nil {
		return nil, err
	}
	return json.Marshal(o)
}

// restrictorNote is the comment on a Composition with files in other directories.
const restrictorNote = "# It names files outside of its directory: --load-restrictor LoadRestrictionsNone lets them be read.\n"

// YAML writes the Composition as YAML, with a comment above each transformer that has its source,
// and one for each of its overrides.
func (c *Consolidated) YAML() ([]byte, error) {
	o, err := c.object()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if c.Outside {
		out.WriteString(restrictorNote)
	}
	list, _ := o[transformersField].([]any)
	if len(list) > 0 {
		delete(o, transformersField)
	}
	head, err := fieldsInOrder(o, "apiVersion", "kind", "metadata", source.CatalogsField)
	if err != nil {
		return nil, err
	}
	out.Write(head)
	if len(list) > 0 {
		out.WriteString(transformersField + ":\n")
	}
	for i, t := range c.Transformers {
		comment(&out, "from", t.From)
		for _, o := range t.Overridden {
			comment(&out, "overridden at", o)
		}
		v, _ := list[i].(map[string]any)
		text, err := fieldsInOrder(v, "apiVersion", "kind", fnconfig.RuntimeField, "metadata")
		if err != nil {
			return nil, err
		}
		item(&out, text)
	}
	return out.Bytes(), nil
}

// comment writes a comment of one line.
func comment(out *bytes.Buffer, what, place string) {
	if strings.ContainsFunc(place, func(r rune) bool { return !unicode.IsPrint(r) }) {
		place = fmt.Sprintf("%q", place)
	}
	fmt.Fprintf(out, "# %s %s\n", what, place)
}

// item writes a mapping as an item of a list.
func item(out *bytes.Buffer, mapping []byte) {
	mark := "- "
	for line := range bytes.Lines(mapping) {
		if len(line) > 1 {
			out.WriteString(mark)
		}
		out.Write(line)
		mark = "  "
	}
}

// fieldsInOrder prints a mapping with some of its fields first, as people write them.
func fieldsInOrder(m map[string]any, first ...string) ([]byte, error) {
	rest := slices.DeleteFunc(slices.Sorted(maps.Keys(m)), func(name string) bool { return slices.Contains(first, name) })
	var out bytes.Buffer
	for _, name := range slices.Concat(first, rest) {
		if _, ok := m[name]; !ok {
			continue
		}
		text, err := k8syaml.Marshal(map[string]any{name: m[name]})
		if err != nil {
			return nil, fmt.Errorf("printing %s: %w", name, err)
		}
		out.Write(text)
	}
	return out.Bytes(), nil
}
