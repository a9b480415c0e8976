package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// checkTexts looks for texts that kustomize would parse as YAML, and that would grow beyond
// bounds: inline patches.
func (l *layer) checkTexts() error {
	for _, name := range sortedKeys(l.fields) {
		var v any
		if err := json.Unmarshal(l.fields[name], &v); err != nil {
			continue // decode has said so
		}
		_, at := l.doc.field(name)
		if err := l.doc.checkText(at, v); err != nil {
			return err
		}
	}
	return nil
}

// checkTexts is the same for a config.
func (c functionConfig) checkTexts() error {
	v, err := c.value()
	if err != nil {
		return err
	}
	return c.checkText(c.document.node, v)
}

// checkText looks at every string in a value.
func (d document) checkText(at *yaml.Node, v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range sortedKeys(v) {
			if err := d.checkText(at, v[k]); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range v {
			if err := d.checkText(at, item); err != nil {
				return err
			}
		}
	case string:
		if err := bombIn(d.where(at), []byte(v)); err != nil {
			return err
		}
	}
	return nil
}

// bombIn tells whether a text would grow beyond bounds if it were read as YAML. Only what
// parses is judged: a text need not be YAML.
func bombIn(where string, text []byte) error {
	if !bytes.Contains(text, []byte("*")) || !bytes.Contains(text, []byte("&")) {
		return nil
	}
	if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
		return &SyntaxError{Where: where, Msg: "it is UTF-16: write it in UTF-8", bomb: true}
	}
	// kyaml splits a text before it parses it, at other places than a YAML parser does.
	pieces := append([][]byte{text}, bytes.Split(append([]byte("\n"), text...), []byte("\n---"))...)
	for _, piece := range pieces {
		if i := bytes.IndexByte(piece, '\n'); i >= 0 && len(piece) < len(text) {
			piece = piece[i+1:] // what stands behind the dashes is a comment
		}
		var grows *SyntaxError
		if _, err := parseDocuments(where, piece); errors.As(err, &grows) && grows.bomb {
			return grows
		}
	}
	return nil
}
