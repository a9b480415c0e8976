package fnconfig

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
	"github.com/krmcat/krmcat/pipeline/internal/source"

	k8syaml "sigs.k8s.io/yaml"
)

// The places where a functionConfig may name its own runtime: the field of KEP-2299, and the
// annotations that kustomize reads.
const (
	RuntimeField      = "runtime"
	functionKey       = "config.kubernetes.io/function"
	legacyFunctionKey = "config.k8s.io/function"
	containerKey      = "config.kubernetes.io/container"
)

// namesRuntime reports whether a config names the runtime of its function: see Inline.
func (c Config) namesRuntime() bool {
	key, _ := c.Field(RuntimeField)
	return key != nil || c.declares()
}

// declares reports whether the metadata of a config names the runtime.
func (c Config) declares() bool {
	if spec, err := c.Node.Pipe(yaml.Lookup("metadata", "configFn")); err == nil && !spec.IsNilOrEmpty() {
		return true
	}
	notes := c.Node.GetAnnotations()
	return slices.ContainsFunc([]string{functionKey, legacyFunctionKey, containerKey}, func(key string) bool { return notes[key] != "" })
}

// Inline takes the runtime out of a config. The field takes precedence over the annotations. It
// is removed, since it is not part of the function's own schema.
func (c Config) Inline() (*Inline, error) {
	if key, value := c.Field(RuntimeField); key != nil {
		spec, err := c.Node.Pipe(yaml.Clear(RuntimeField))
		if err != nil {
			return nil, c.Errorf(key, "reading runtime: %v", err)
		}
		in, err := c.InlineOf(spec, value.Line, FieldOfRuntime)
		if err != nil || in.Kind != "" {
			return in, err
		}
		noted, err := c.noted()
		if noted == nil {
			return in, err
		}
		noted.Only = in.Only
		return noted, err
	}
	return c.noted()
}

// noted reads the runtime that is named in the metadata of a config; nil for none.
func (c Config) noted() (*Inline, error) {
	notes := c.Node.GetAnnotations()
	for _, key := range []string{functionKey, legacyFunctionKey} {
		if text := notes[key]; text != "" {
			spec, err := yamldoc.One([]byte(text))
			if err != nil {
				return nil, &source.SyntaxError{Where: c.Where(c.Document.Node), Msg: "the annotation " + key + " is not valid YAML", Err: err}
			}
			c.linesOf(key, spec)
			return c.InlineOf(yaml.NewRNode(spec), c.Document.Node.Line, "the annotation "+key)
		}
	}
	if spec, err := c.Node.Pipe(yaml.Lookup("metadata", "configFn")); err == nil && !spec.IsNilOrEmpty() {
		return c.InlineOf(spec, spec.YNode().Line, "the field metadata.configFn")
	}
	if image := notes[containerKey]; image != "" {
		spec := yaml.NewMapRNode(&map[string]string{"image": image})
		return &Inline{
			Runtime: catalog.Runtime{Kind: "container", Spec: spec, Line: c.Document.Node.Line},
			Source:  "the annotation " + containerKey, Where: c.Where(c.Document.Node),
		}, nil
	}
	return nil, nil //nolint:nilnil // a config without a runtime is the usual case
}

// linesOf gives nodes that were parsed from the text of an annotation their lines in the file,
// or none where the lines cannot be told.
func (c Config) linesOf(key string, spec *yaml.Node) {
	_, meta := c.Field("metadata")
	notes := yamldoc.Field(meta, "annotations")
	text := yamldoc.Field(notes, key)
	switch {
	case spec == nil:
	case text != nil && (text.Style&yaml.LiteralStyle != 0 || !strings.Contains(strings.TrimRight(text.Value, "\n"), "\n")):
		source.ShiftLines(spec, source.TextStart(text))
	default:
		source.ForgetLines(spec)
	}
}

// RunsBy is what RunBy was given.
func (s Step) RunsBy() *Inline {
	if n := s.Named; n != nil {
		return &Inline{
			Runtime: catalog.Runtime{Kind: NamedKind, Spec: yaml.NewStringRNode(n.Function)},
			Source:  n.Source, Where: n.Where, DeferFailure: n.DeferFailure, Only: s.Only.Selection,
		}
	}
	in := &Inline{Source: FieldOfRuntime}
	if s.Inline != nil {
		*in = *s.Inline
	}
	if in.Only = s.Only.Selection; s.Inline == nil && in.Only.All() {
		return nil
	}
	return in
}

// InlineOf reads {container: …}, {exec: …} or {function: NAME}, strictly: one of them and nothing
// else but deferFailure, selectors and exclude. With selectors or exclude it may be none of them.
func (c Config) InlineOf(spec *yaml.RNode, line int, source string) (*Inline, error) {
	at := &yaml.Node{Line: line}
	if spec == nil || spec.YNode() == nil || spec.YNode().Kind != yaml.MappingNode {
		return nil, c.Errorf(at, "%s is not a mapping", source)
	}
	in := &Inline{Source: source, Where: c.Where(c.Document.Node)}
	names, err := spec.Fields()
	if err != nil {
		return nil, c.Errorf(at, "reading %s: %v", source, err)
	}
	selects, err := in.selectsBy(c.Document, spec.YNode())
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		value := spec.Field(name).Value
		if name == "deferFailure" {
			if err := k8syaml.Unmarshal([]byte(value.MustString()), &in.DeferFailure); err != nil {
				return nil, c.Errorf(at, "%s: deferFailure is true or false", source)
			}
			continue
		}
		if name == selector.SelectorsField || name == selector.ExcludeField {
			continue
		}
		if catalog.RuntimeField(name) {
			return nil, c.Errorf(at, "%s: %s is a field of a runtime and belongs inside of one, not beside it", source, name)
		}
		if in.Kind != "" {
			return nil, c.Errorf(at, "%s names two runtimes, %s and %s", source, in.Kind, name)
		}
		in.Runtime = catalog.Runtime{Kind: name, Spec: value, Line: line}
	}
	if in.Kind == "" && (!selects || in.DeferFailure) {
		return nil, c.Errorf(at, "%s names no runtime (container, exec, starlark), and no function", source)
	}
	if in.Kind == NamedKind {
		at := in.Spec.YNode()
		if at.Kind != yaml.ScalarNode || at.ShortTag() != yaml.NodeTagString {
			return nil, c.Errorf(at, "%s: function is the name of a function of a catalog, not %s", source, yamldoc.Describe(at))
		}
		if err := catalog.CheckNamed(at.Value); err != nil {
			return nil, c.Errorf(at, "%s: %v", source, err)
		}
	}
	return in, nil
}

// selectsBy reads the selectors beside a runtime, and reports whether there are any.
func (in *Inline) selectsBy(d source.Document, spec *yaml.Node) (bool, error) {
	ps := yamldoc.Problems{File: d.File}
	v := ps.Read(spec)
	in.Only = selector.Decode(v)
	found := false
	for _, name := range []string{selector.SelectorsField, selector.ExcludeField} {
		list := v.Get(name)
		found = found || list.Node() != nil
		if list.Node() != nil && !list.Present() { // it would select more than was meant
			list.Fail("it has no value")
		}
	}
	return found, source.SyntaxErrors(&ps)
}

// NamedKind is the Kind of an Inline that names a function of a catalog, and no runtime. A Step has
// a Named in its place.
const NamedKind = "function"

// RunBy is the Step with what its config names: a runtime, a function of a catalog, or nothing. If
// the config only selects resources, the rest stays as it is.
func (s Step) RunBy(in *Inline) Step {
	if in != nil && in.Kind == "" {
		return s
	}
	s.Inline, s.Named = in, nil
	if in != nil && in.Kind == NamedKind {
		s.Inline = nil
		s.Named = &Named{Function: in.Spec.YNode().Value, Source: in.Source, Where: in.Where, DeferFailure: in.DeferFailure}
	}
	return s
}

// FieldOfRuntime is the Source of a runtime in the field runtime.
const FieldOfRuntime = "the field " + RuntimeField
