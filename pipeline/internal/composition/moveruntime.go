package composition

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// inline returns the value of the field runtime. It is nil if the config names the runtime
// elsewhere and it means the same in both directories, and selects no resources.
func (m *mover) inline(in *fnconfig.Inline) (map[string]any, error) {
	runtime, err := m.inlineRuntime(in)
	if err != nil || in == nil || in.Only.All() {
		return runtime, err
	}
	if runtime == nil {
		runtime = map[string]any{}
	}
	maps.Copy(runtime, in.Only.Value())
	return runtime, nil
}

// inlineRuntime is inline without selectors.
func (m *mover) inlineRuntime(in *fnconfig.Inline) (map[string]any, error) {
	if in == nil || yaml.IsMissingOrNull(in.Spec) {
		return nil, nil //nolint:nilnil // most configs name none
	}
	spec := in.Spec.Copy().YNode()
	asWritten(spec, false)
	before := yaml.NewRNode(spec).Copy()
	if err := m.runtime(in.Kind, spec); err != nil {
		return nil, err
	}
	if in.Source != fnconfig.FieldOfRuntime && sameText(before.YNode(), spec) {
		return nil, nil //nolint:nilnil // it can stay where it is
	}
	var v any
	if err := spec.Decode(&v); err != nil {
		return nil, fmt.Errorf("reading a runtime: %w", err)
	}
	runtime := map[string]any{in.Kind: v}
	if in.DeferFailure {
		runtime["deferFailure"] = true
	}
	return runtime, nil
}

// sameText reports whether two nodes of the same structure have the same texts.
func sameText(a, b *yaml.Node) bool {
	for i := range a.Content {
		if !sameText(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return a.Value == b.Value
}

// asWritten converts every scalar that runtimes read as text to a text: an argument 010 is not 8.
func asWritten(n *yaml.Node, listed bool) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if tag := n.ShortTag(); n.Kind == yaml.ScalarNode && tag != yaml.NodeTagNull && (listed || tag != yaml.NodeTagBool) {
		n.Tag, n.Style = yaml.NodeTagString, yaml.DoubleQuotedStyle
	}
	for _, c := range n.Content {
		asWritten(c, n.Kind == yaml.SequenceNode)
	}
}

// runtime rewrites the places in the spec of a runtime: a reference, a mapping that names
// one, or a list of such.
func (m *mover) runtime(kind string, n *yaml.Node) error {
	if kind == "container" || kind == fnconfig.NamedKind { // they mean the same everywhere
		return nil
	}
	var err error
	switch n.Kind {
	case yaml.ScalarNode:
		m.lookPlace(n.Value)
		n.Value, err = m.place(n.Value)
	case yaml.SequenceNode:
		for _, c := range n.Content {
			if c.Kind != yaml.MappingNode { // it is refused later
				continue
			}
			if err := m.runtime(kind, c); err != nil {
				return err
			}
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := m.runtimeField(kind, n.Content[i].Value, n.Content[i+1]); err != nil {
				return err
			}
		}
	}
	return err
}

func (m *mover) runtimeField(kind, name string, v *yaml.Node) error {
	var err error
	switch text := v.Kind == yaml.ScalarNode && v.Value != ""; {
	case name == "platforms" && v.Kind == yaml.SequenceNode:
		return m.runtime(kind, v)
	case name == "path" && text && kind == "exec" && !strings.ContainsAny(v.Value, `/\`):
		// PATH is the same everywhere.
	case name == "path" && text:
		m.lookProgram(v.Value)
		if m.unmoved() {
			return nil
		}
		if v.Value, err = m.relative(m.from.Dir, v.Value); err == nil && !strings.Contains(v.Value, "/") {
			v.Value = "./" + v.Value
		}
	case (name == "uri" || name == "url" || name == "oci") && text:
		m.lookPlace(v.Value)
		v.Value, err = m.place(v.Value)
	}
	return err
}

// lookPlace is lookProgram for a place as package registry reads it.
func (m *mover) lookPlace(written string) {
	scheme, name := splitPlace(written)
	if strings.HasPrefix(strings.ToLower(scheme), "oci-layout") {
		name, _, _ = strings.Cut(name, ":")
	}
	if name != "" {
		m.lookProgram(name)
	}
}

// lookProgram sets outside if the load restrictor does not permit what a runtime names.
func (m *mover) lookProgram(name string) {
	err := fnconfig.Step{Dir: m.to}.Beyond(m.FS, m.from.Join(name).Dir, source.Options{})
	*m.outside = *m.outside || errors.As(err, new(*fnconfig.RestrictedError))
}

// places rewrites a list of places.
func (m *mover) places(list *yaml.Node) error {
	if list == nil {
		return nil
	}
	for _, n := range list.Content {
		if n.Kind != yaml.ScalarNode {
			continue
		}
		var err error
		if n.Value, err = m.place(n.Value); err != nil {
			return err
		}
	}
	return nil
}

// place rewrites a place as package registry reads it: a layout, or a file. Others mean the
// same everywhere.
func (m *mover) place(written string) (string, error) {
	scheme, name := splitPlace(written)
	if name == "" || m.unmoved() || filepath.IsAbs(name) {
		return written, nil
	}
	moved, err := m.relative(m.from.Dir, name)
	if err != nil {
		return "", err
	}
	// What follows a colon in the last name is a tag.
	if last := path.Base(filepath.ToSlash(name)); strings.HasSuffix(name, "/") || last == "." || last == ".." {
		moved += "/"
	}
	if again, same := splitPlace(moved); scheme == "" && (again != "" || same == "") {
		moved = "./" + moved
	}
	return scheme + moved, nil
}

// splitPlace splits a place into scheme and path. The path is empty if the place is not on this
// machine.
func splitPlace(written string) (scheme, name string) {
	lower := strings.ToLower(written)
	for _, known := range []string{"oci-layout://", "file://"} {
		if strings.HasPrefix(lower, known) {
			return written[:len(known)], written[len(known):]
		}
	}
	if source.HasScheme(lower) && strings.Index(lower, "://") > 1 || strings.HasPrefix(written, "git::") || strings.HasPrefix(written, "git@") {
		return "", ""
	}
	for _, slip := range []string{"oci:", "oci-layout:", "https:", "http:", "file:", "docker:", "git:", "ssh:"} {
		if strings.HasPrefix(lower, slip) {
			return "", ""
		}
	}
	return "", written
}
