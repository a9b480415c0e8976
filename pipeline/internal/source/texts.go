package source

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
)

// CheckText applies BombIn to every string in a value.
func (d Document) CheckText(at *yaml.Node, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err := d.CheckText(at, v[k]); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := d.CheckText(at, item); err != nil {
				return err
			}
		}
	case string:
		var grows *SyntaxError
		if err := BombIn(d.File, []byte(v)); errors.As(err, &grows) {
			return &SyntaxError{Where: d.Where(at), Msg: grows.Msg, Kind: grows.Kind} // its line is relative to the text
		}
	}
	return nil
}

// BombIn refuses a text that exceeds a limit when it is parsed as YAML. A text that is not YAML
// passes.
func BombIn(where string, text []byte) error {
	if !bytes.Contains(text, []byte("*")) || !bytes.Contains(text, []byte("&")) {
		return nil
	}
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return &SyntaxError{Where: where, Msg: "it is UTF-16: write it in UTF-8", Kind: failure.Untrusted}
	}
	// kyaml splits a text before it parses it, at other places than a YAML parser does.
	pieces := append([][]byte{text}, bytes.Split(append([]byte("\n"), text...), []byte("\n---"))...)
	for _, piece := range pieces {
		if i := bytes.IndexByte(piece, '\n'); i >= 0 && len(piece) < len(text) {
			piece = piece[i+1:] // what follows the dashes is a comment
		}
		var grows *SyntaxError
		if _, err := ParseDocuments(where, piece); errors.As(err, &grows) && grows.Kind == failure.Untrusted {
			return grows
		}
	}
	return nil
}
