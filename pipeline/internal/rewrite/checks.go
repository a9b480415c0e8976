package rewrite

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// explain returns an error of decoding with its position.
func (k *kustomization) explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		name, _, _ := strings.Cut(wrong.Field, ".")
		_, at := k.doc.Field(name)
		return k.doc.Errorf(at, "%s: %s is expected, this is %s", wrong.Field, source.DescribeType(wrong.Type), source.DescribeJSON(wrong.Value))
	}
	if unknown := k.doc.Strangers(reflect.TypeFor[fnconfig.InlineKustomization](), true); unknown != nil {
		return unknown
	}
	return &source.SyntaxError{Where: k.doc.File, Msg: "not a kustomization", Err: err}
}

// checkOrder refuses what kustomize refuses in sortOptions, with the text of kustomize's messages.
// kustomize checks it only after the build, and only in the target itself.
func (k *kustomization) checkOrder() error {
	o := k.kust.SortOptions
	key, at := k.doc.Field("sortOptions")
	switch {
	case o == nil:
	case o.Order != types.FIFOSortOrder && o.Order != types.LegacySortOrder:
		return k.doc.Errorf(cmp.Or(yamldoc.Field(at, "order"), key), "the field 'sortOptions.order' must be one of [%s, %s]", types.FIFOSortOrder, types.LegacySortOrder)
	case o.Order == types.FIFOSortOrder && o.LegacySortOptions != nil:
		return k.doc.Errorf(cmp.Or(yamldoc.Field(at, "legacySortOptions"), key),
			"the field 'sortOptions.legacySortOptions' is set but the selected sort order is '%v', not 'legacy'", o.Order)
	}
	return nil
}

// canonical sets the fields of a kustomization under their canonical names. kustomize accepts
// letters of either case in a name, so that one field may have several spellings.
func (p *plan) canonical(ku *kustomization, raw map[string]json.RawMessage) error {
	known := kustomizationFields()
	ku.fields = make(map[string]json.RawMessage, len(raw))
	written := map[string][]string{} // in the order in which kustomize reads them
	var errs []error
	unknown := 0
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
		if i < 0 {
			if unknown++; unknown > composition.MostErrors { // DidYouMean compares each with all fields
				continue
			}
			key, _ := ku.doc.Field(name)
			errs = append(errs, ku.doc.Errorf(key, "unknown field %q%s", name, source.DidYouMean(name, known)))
			continue
		}
		written[known[i]] = append(written[known[i]], name)
		ku.fields[known[i]] = raw[name]
	}
	if more := unknown - composition.MostErrors; more > 0 {
		errs = append(errs, ku.doc.Errorf(ku.doc.Node, "and %d more unknown fields", more))
	}
	for _, canonical := range slices.Sorted(maps.Keys(written)) {
		names := written[canonical]
		if len(names) > 1 {
			errs = append(errs, p.fold(ku, canonical, names, raw))
		}
		if key, _ := ku.doc.Field(names[len(names)-1]); key != nil {
			key.Value = canonical // positions are looked up by canonical name
		}
	}
	return errors.Join(append(errs, ku.takeCatalogs())...)
}

// fold reads a field that is written in several spellings as kustomize does. The spellings are read
// in alphabetical order. The last value is used, and mappings are joined.
func (p *plan) fold(ku *kustomization, canonical string, names []string, raw map[string]json.RawMessage) error {
	last := names[len(names)-1]
	key, _ := ku.doc.Field(last)
	if canonical == source.CatalogsField {
		return ku.doc.Errorf(key, "%q and %q are two spellings of one field", names[0], last)
	}
	p.Warn(ku.doc.Where(key), fmt.Sprintf("%s are spellings of one field: each overrides the one before, as in kustomize, and %q is the last",
		strings.Join(names, ", "), last))
	several := map[string]json.RawMessage{}
	for _, name := range names {
		several[name] = raw[name]
		if key, _ := ku.doc.Field(name); key != nil && name != last && name == canonical {
			key.Value = "" // its position must not be found
		}
	}
	j, err := json.Marshal(several)
	if err != nil {
		return fmt.Errorf("writing %s as JSON: %w", ku.doc.File, err)
	}
	var k types.Kustomization
	if err := k.Unmarshal(fnconfig.ASCII(j)); err != nil {
		return ku.explain(err)
	}
	if j, err = json.Marshal(k); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", ku.doc.File, err)
	}
	var one map[string]json.RawMessage
	if err := json.Unmarshal(j, &one); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", ku.doc.File, err)
	}
	if ku.fields[canonical] = one[canonical]; one[canonical] == nil {
		delete(ku.fields, canonical) // the field is empty
	}
	return nil
}

// kustomizationFields returns the names of the fields that kustomize knows, and catalogs.
func kustomizationFields() []string {
	names := []string{"apiVersion", "kind", source.CatalogsField}
	t := reflect.TypeFor[types.Kustomization]()
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// checkSpellings warns about nested fields and values of a kustomization that kustomize does not
// know and ignores without a message.
func (k *kustomization) checkSpellings(p *plan) {
	if _, schema := k.doc.Field("openapi"); schema != nil && schema.Kind == yaml.MappingNode {
		p.WarnOf(k.doc.UnknownFields(schema, "openapi", []string{"path", "version"}))
	}
	if _, data := k.doc.Field("buildMetadata"); data != nil {
		ps := yamldoc.Problems{File: k.doc.File}
		for _, n := range data.Content {
			if !slices.Contains(types.BuildMetadataOptions, n.Value) {
				ps.Add(n.Line, "unknown word %q of buildMetadata%s", n.Value, source.DidYouMean(n.Value, types.BuildMetadataOptions))
			}
		}
		p.WarnOf(source.SyntaxErrors(&ps))
	}
	for _, r := range k.kust.Replacements {
		if r.Path != "" {
			p.checkReplacements(p.refIn(k, r.Path))
		}
	}
}

// checkReplacements warns about unknown fields in a file of replacements. It does not report a file
// that cannot be read: kustomize does.
func (p *plan) checkReplacements(f source.FileRef) {
	docs, _, err := p.Documents(f)
	if err != nil || len(docs) != 1 {
		return
	}
	t := reflect.TypeFor[types.Replacement]()
	if docs[0].Node.Kind == yaml.SequenceNode {
		t = reflect.SliceOf(t)
	}
	p.WarnOfStrangers(docs[0], t)
}

// checkTexts refuses texts, such as inline patches, that kustomize would parse as YAML and that
// would grow beyond the limits through aliases.
func (k *kustomization) checkTexts() error {
	for _, name := range slices.Sorted(maps.Keys(k.fields)) {
		var v any
		if err := json.Unmarshal(k.fields[name], &v); err != nil {
			continue // decode has reported it
		}
		_, at := k.doc.Field(name)
		if err := k.doc.CheckText(at, v); err != nil {
			return err
		}
	}
	return nil
}
