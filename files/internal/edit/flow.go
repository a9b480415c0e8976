package edit

import (
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// replaceFlow prints a value in brackets.
func (e *editor) replaceFlow(p place, old, m *yaml.Node) error {
	sp := e.src.spans[old]
	text := e.flowText(m, sp.token)
	if sp.start == sp.end {
		if sp.start == 0 || e.src.text[sp.start-1] != ':' {
			return &stuckError{p.in}
		}
		text = " " + text
	}
	if old.Anchor != "" {
		text = "&" + old.Anchor + " " + text
	}
	e.splice(p.in, splice{sp.start, sp.end, text})
	return nil
}

// flowText prints a value in brackets, with the indentation of the line that an offset is in.
func (e *editor) flowText(m *yaml.Node, at int) string {
	if !e.doc.JSON {
		p := e.printer()
		return p.flow(m)
	}
	p := jsonPrinter{step: indentOfJSON(e.doc.Text)}
	p.value(m, e.indentation(at))
	return p.out.String()
}

// flowKey prints a key in brackets.
func (e *editor) flowKey(k *yaml.Node) string {
	if e.doc.JSON {
		return jsonText(k.Value)
	}
	p := e.printer()
	return p.key(k, true)
}

// indentation returns the white space at the beginning of the line that an offset is in.
func (e *editor) indentation(at int) string {
	line := e.src.text[e.src.lineStart(at):]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// removeFlow removes the fields or items of a collection in brackets that are gone. Each takes step
// nodes of the content.
func (e *editor) removeFlow(old *yaml.Node, gone []bool, step int) error {
	start := func(i int) int { return e.src.spans[old.Content[i*step]].start }
	end := func(i int) int { return e.src.spans[old.Content[i*step+step-1]].end }
	for i := 0; i < len(gone); i++ {
		if !gone[i] {
			continue
		}
		first := i
		for i+1 < len(gone) && gone[i+1] {
			i++
		}
		switch {
		case first > 0:
			e.splice(old, splice{end(first - 1), end(i), ""})
		case i+1 < len(gone):
			e.splice(old, splice{start(0), start(i + 1), ""})
		default:
			return &stuckError{old}
		}
	}
	return nil
}

// insertFlow inserts fields or items after the one that ends at an offset. beside is its first
// node.
func (e *editor) insertFlow(old, beside *yaml.Node, at int, add *yaml.Node) error {
	step := 1
	if add.Kind == yaml.MappingNode {
		step = 2
	}
	separator := ", "
	start := e.src.spans[beside].start
	if e.src.firstOnLine(start) || strings.Trim(e.src.text[e.src.lineStart(start):start], " \t") == "" {
		separator = ",\n" + e.indentation(start)
	} else if e.doc.JSON && !strings.Contains(string(e.doc.Text), ", ") {
		separator = ","
	}
	var text strings.Builder
	for i := 0; i+step <= len(add.Content); i += step {
		text.WriteString(separator)
		if step == 2 {
			text.WriteString(e.flowKey(add.Content[i]) + e.colon())
		}
		text.WriteString(e.flowText(add.Content[i+step-1], start))
	}
	e.splice(old, splice{at, at, text.String()})
	return nil
}

// colon returns what stands between a key and its value.
func (e *editor) colon() string {
	if e.doc.JSON && !strings.Contains(string(e.doc.Text), "\": ") {
		return ":"
	}
	return ": "
}

// insertFlowItems inserts items after the one at an index; -1 for before the first.
func (e *editor) insertFlowItems(old *yaml.Node, at int, add *yaml.Node) error {
	if at >= 0 {
		beside := old.Content[at]
		return e.insertFlow(old, beside, e.src.spans[beside].end, add)
	}
	start := e.src.spans[old.Content[0]].start
	separator := ", "
	if strings.Trim(e.src.text[e.src.lineStart(start):start], " \t") == "" {
		separator = ",\n" + e.indentation(start)
	}
	var text strings.Builder
	for _, item := range add.Content {
		text.WriteString(e.flowText(item, start) + separator)
	}
	e.splice(old, splice{start, start, text.String()})
	return nil
}
