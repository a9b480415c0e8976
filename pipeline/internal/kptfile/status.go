package kptfile

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The fields and values of the status that a render writes.
const (
	statusField     = "status"
	conditionsField = "conditions"
	renderField     = "renderStatus"
	conditionType   = "Rendered"
)

// Status is what a render says about itself in the Kptfile of its package.
type Status struct {
	Failed     bool
	Message    string // why it failed
	Mutations  []Called
	Validators []Called
}

// Called is one call of a function.
type Called struct {
	Name, Image, Command string
	Refusal              string // why it was not started, or its output not used
	Stderr               string
	ExitCode             int
	Results              []Result
}

// Result is a result that a function reported, and whether its severity is error.
type Result struct {
	Node    *yaml.Node
	IsError bool
}

// Write writes a status into a Kptfile, a mapping. Other conditions and all other fields stay as
// they are.
func (s Status) Write(k *yaml.Node) error {
	if k == nil || k.Kind != yaml.MappingNode {
		return fmt.Errorf("a Kptfile is a mapping, this is %s", yamldoc.Describe(k))
	}
	status := child(k, statusField, yaml.MappingNode)
	conditions := child(status, conditionsField, yaml.SequenceNode)
	isOld := func(c *yaml.Node) bool {
		t := yamldoc.Field(c, "type")
		return t != nil && t.Value == conditionType
	}
	conditions.Content = append(slices.DeleteFunc(conditions.Content, isOld), s.condition())
	put(status, renderField, s.calls())
	return nil
}

// condition returns the condition of the render.
func (s Status) condition() *yaml.Node {
	c := mapping("type", yamldoc.Text(conditionType), "status", quoted("True"), "reason", yamldoc.Text("RenderSuccess"))
	if s.Failed {
		c = mapping("type", yamldoc.Text(conditionType), "status", quoted("False"), "reason", yamldoc.Text("RenderFailed"))
		add(c, "message", s.Message)
	}
	return c
}

// calls returns the field renderStatus, nil if no function was called.
func (s Status) calls() *yaml.Node {
	if len(s.Mutations)+len(s.Validators) == 0 {
		return nil
	}
	n := mapping()
	for _, l := range []struct {
		field string
		calls []Called
	}{{"mutationSteps", s.Mutations}, {"validationSteps", s.Validators}} {
		var calls []*yaml.Node
		for _, c := range l.calls {
			calls = append(calls, c.node())
		}
		put(n, l.field, list(calls))
	}
	if s.Failed {
		add(n, "errorSummary", s.summary())
	}
	return n
}

// summary has a line for each call that failed.
func (s Status) summary() string {
	var lines []string
	for _, c := range append(append([]Called{}, s.Mutations...), s.Validators...) {
		title := Function{Name: c.Name, Image: c.Image, Command: c.Command}.Title()
		switch {
		case c.Refusal != "":
			lines = append(lines, title+": "+c.Refusal)
		case c.ExitCode != 0:
			lines = append(lines, fmt.Sprintf("%s: exit code %d", title, c.ExitCode))
		}
	}
	return strings.Join(lines, "\n")
}

// node returns a call as kpt writes it.
func (c Called) node() *yaml.Node {
	n := mapping()
	add(n, "name", c.Name)
	add(n, "image", c.Image)
	add(n, "exec", c.Command)
	add(n, "executionError", c.Refusal)
	add(n, "stderr", c.Stderr)
	put(n, "exitCode", &yaml.Node{Kind: yaml.ScalarNode, Tag: yaml.NodeTagInt, Value: fmt.Sprint(c.ExitCode)})
	var results, errs []*yaml.Node
	for _, r := range c.Results {
		results = append(results, r.Node)
		if r.IsError {
			errs = append(errs, r.Node)
		}
	}
	put(n, "results", list(results))
	put(n, "errorResults", list(errs))
	return n
}

// child returns the value of a field, which is made anew if it is no mapping or list.
func child(m *yaml.Node, field string, kind yaml.Kind) *yaml.Node {
	if v := yamldoc.Field(m, field); v != nil && v.Kind == kind {
		v.Style &^= yaml.FlowStyle
		return v
	}
	v := &yaml.Node{Kind: kind}
	put(m, field, v)
	return v
}

// put sets a field, or removes it if the value is nil.
func put(m *yaml.Node, field string, value *yaml.Node) {
	i := yamldoc.FieldIndex(m, field)
	switch {
	case i >= 0 && value == nil:
		m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
	case i >= 0:
		m.Content[i+1] = value
	case value != nil:
		m.Content = append(m.Content, yamldoc.Text(field), value)
	}
}

// add adds a field with a text, unless it is empty.
func add(m *yaml.Node, field, text string) {
	if text != "" {
		put(m, field, yamldoc.Text(text))
	}
}

// list returns a list, nil for an empty one.
func list(content []*yaml.Node) *yaml.Node {
	if len(content) == 0 {
		return nil
	}
	return &yaml.Node{Kind: yaml.SequenceNode, Content: content}
}

func mapping(pairs ...any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, _ := pairs[i].(string)
		value, _ := pairs[i+1].(*yaml.Node)
		put(n, name, value)
	}
	return n
}

func quoted(text string) *yaml.Node {
	n := yamldoc.Text(text)
	n.Style = yaml.DoubleQuotedStyle
	return n
}
