package rewrite

import (
	"encoding/json"
	"maps"
	"slices"
)

// checkTexts looks for texts that kustomize would parse as YAML, and that would grow beyond
// bounds: inline patches.
func (l *layer) checkTexts() error {
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		var v any
		if err := json.Unmarshal(l.fields[name], &v); err != nil {
			continue // decode has said so
		}
		_, at := l.doc.Field(name)
		if err := l.doc.CheckText(at, v); err != nil {
			return err
		}
	}
	return nil
}
