package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

var errNotJSON = errors.New("the text is not JSON")

func validJSON(text []byte) bool { return json.Valid(bytes.TrimSpace(text)) }

// indentOfJSON returns the indentation of a JSON text, "" for one that has no line ends in it.
func indentOfJSON(text []byte) string {
	for line := range bytes.Lines(Lines(bytes.TrimSpace(text))) {
		if by := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]; len(by) > 0 {
			return string(by)
		}
	}
	if bytes.Contains(bytes.TrimSpace(text), []byte("\n")) {
		return "  "
	}
	return ""
}

// PrintJSON prints a tree without aliases as JSON.
func PrintJSON(n *yaml.Node) []byte { return printJSON(n, "  ") }

func printJSON(n *yaml.Node, step string) []byte {
	p := jsonPrinter{step: step}
	p.value(n, "")
	return []byte(p.out.String() + "\n")
}

// jsonPrinter prints JSON in the order of the tree, with its numbers as they are written.
type jsonPrinter struct {
	step string
	out  strings.Builder
}

func (p *jsonPrinter) value(n *yaml.Node, indent string) {
	switch n.Kind {
	case yaml.MappingNode:
		p.list(n, indent, 2)
	case yaml.SequenceNode:
		p.list(n, indent, 1)
	default:
		p.out.WriteString(jsonScalar(n))
	}
}

func (p *jsonPrinter) list(n *yaml.Node, indent string, step int) {
	brackets := "[]"
	if step == 2 {
		brackets = "{}"
	}
	p.out.WriteString(brackets[:1])
	inner := indent + p.step
	for i := 0; i+step <= len(n.Content); i += step {
		if i > 0 {
			p.out.WriteByte(',')
		}
		if p.step != "" {
			p.out.WriteString("\n" + inner)
		}
		if step == 2 {
			p.out.WriteString(jsonText(n.Content[i].Value) + ":")
			if p.step != "" {
				p.out.WriteByte(' ')
			}
		}
		p.value(n.Content[i+step-1], inner)
	}
	if p.step != "" && len(n.Content) > 0 {
		p.out.WriteString("\n" + indent)
	}
	p.out.WriteString(brackets[1:])
}

func jsonScalar(n *yaml.Node) string {
	switch tagOf(n) {
	case yaml.NodeTagNull:
		return "null"
	case yaml.NodeTagBool:
		return strings.ToLower(n.Value)
	case yaml.NodeTagInt, yaml.NodeTagFloat:
		if json.Valid([]byte(n.Value)) {
			return n.Value
		}
		var number any
		if n.Decode(&number) == nil {
			if out, err := json.Marshal(number); err == nil {
				return string(out)
			}
		}
	}
	return jsonText(n.Value)
}

func jsonText(s string) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return `""`
	}
	return strings.TrimSuffix(out.String(), "\n")
}
