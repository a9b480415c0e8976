package rewrite

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/api/types"
)

// canonical folds the spellings of field names that kustomize takes for one.
func (p *plan) canonical(l *layer, raw map[string]json.RawMessage) error {
	known := kustomizationFields()
	l.fields = make(map[string]json.RawMessage, len(raw))
	written := map[string][]string{} // in the order in which kustomize reads them
	var errs []error
	unknown := 0
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
		if i < 0 {
			if unknown++; unknown > composition.MostErrors { // each looks through all fields
				continue
			}
			key, _ := l.doc.Field(name)
			errs = append(errs, l.doc.Errorf(key, "unknown field %q%s", name, source.DidYouMean(name, known)))
			continue
		}
		written[known[i]] = append(written[known[i]], name)
		l.fields[known[i]] = raw[name]
	}
	if more := unknown - composition.MostErrors; more > 0 {
		errs = append(errs, l.doc.Errorf(l.doc.Node, "and %d more unknown fields", more))
	}
	for _, canonical := range slices.Sorted(maps.Keys(written)) {
		names := written[canonical]
		if len(names) > 1 {
			errs = append(errs, p.fold(l, canonical, names, raw))
		}
		if key, _ := l.doc.Field(names[len(names)-1]); key != nil {
			key.Value = canonical // positions are looked up by canonical name
		}
	}
	return errors.Join(append(errs, l.takeCatalogs())...)
}

// fold reads a field that is written in several spellings as kustomize does, one over the
// other: of most the last in the order of the alphabet is left, and mappings are joined.
func (p *plan) fold(l *layer, canonical string, names []string, raw map[string]json.RawMessage) error {
	last := names[len(names)-1]
	key, _ := l.doc.Field(last)
	if canonical == source.CatalogsField {
		return l.doc.Errorf(key, "%q and %q are two spellings of one field", names[0], last)
	}
	p.Warn(l.doc.Where(key), fmt.Sprintf("%s are spellings of one field: they are read one over the other, as in kustomize, and %q last",
		strings.Join(names, ", "), last))
	several := map[string]json.RawMessage{}
	for _, name := range names {
		several[name] = raw[name]
		if key, _ := l.doc.Field(name); key != nil && name != last && name == canonical {
			key.Value = "" // no position of this one is looked up
		}
	}
	j, err := json.Marshal(several)
	if err != nil {
		return fmt.Errorf("writing %s as JSON: %w", l.doc.File, err)
	}
	var k types.Kustomization
	if err := k.Unmarshal(fnconfig.ASCII(j)); err != nil {
		return l.explain(err)
	}
	if j, err = json.Marshal(k); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", l.doc.File, err)
	}
	var one map[string]json.RawMessage
	if err := json.Unmarshal(j, &one); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", l.doc.File, err)
	}
	if l.fields[canonical] = one[canonical]; one[canonical] == nil {
		delete(l.fields, canonical) // nothing is in it
	}
	return nil
}

// kustomizationFields lists the names that kustomize knows, and ours.
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
