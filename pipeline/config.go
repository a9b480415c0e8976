package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Where a functionConfig may name its own runtime: the field of KEP-2299, and the
// annotations and the field that kustomize reads.
const (
	runtimeField      = "runtime"
	functionKey       = "config.kubernetes.io/function"
	legacyFunctionKey = "config.k8s.io/function"
	containerKey      = "config.kubernetes.io/container"
	localConfigKey    = "config.kubernetes.io/local-config"
)

// builtinVersion is the apiVersion of kustomize's own generators and transformers.
const builtinVersion = "builtin"

// functionConfig is one document of a list, read.
type functionConfig struct {
	document
	node    *yaml.RNode
	id      catalog.FunctionID
	name    string
	builtin bool
	root    place // what relative paths are relative to, in a list of a kustomization

	composition *pipeline // a whole Composition stands here, and nothing of the above is set
}

// readConfig reads a function config. It needs a kind, and an apiVersion where it does not
// name its own runtime; metadata.name defaults to the kind in kebab case (KEP-2299, "Notes").
func readConfig(d document) (functionConfig, error) {
	c := functionConfig{document: d}
	if d.node.Kind != yaml.MappingNode {
		return c, d.errorf(d.node, "a function config is a mapping, this is %s", describe(d.node))
	}
	if err := d.wellFormed(); err != nil {
		return c, err
	}
	_, apiVersion := d.field("apiVersion")
	_, kind := d.field("kind")
	if kind == nil || kind.Value == "" {
		return c, d.errorf(d.node, "a function config needs a kind")
	}
	if apiVersion == nil || isNull(apiVersion) {
		apiVersion = yaml.NewStringRNode("").YNode()
	}
	for i, n := range []*yaml.Node{apiVersion, kind} {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString {
			return c, d.errorf(n, "%s has to be plain text", []string{"apiVersion", "kind"}[i])
		}
	}
	c.node = yaml.NewRNode(d.node)
	if apiVersion.Value == "" && !c.namesRuntime() {
		return c, d.errorf(d.node, "the function config of kind %s needs an apiVersion%s", kind.Value, didYouMean(kind.Value, builtinKinds()))
	}
	c.id = catalog.IDOf(apiVersion.Value, kind.Value)
	if c.id.APIVersion() != apiVersion.Value {
		return c, d.errorf(apiVersion, "%q is no apiVersion: group/version is, or a version", apiVersion.Value)
	}
	if c.name = c.node.GetName(); c.name == "" {
		c.name = kebab(kind.Value)
	}
	c.builtin = apiVersion.Value == builtinVersion
	if c.builtin && !slices.Contains(builtinKinds(), kind.Value) {
		return c, d.errorf(kind, "there is no builtin %s%s", kind.Value, didYouMean(kind.Value, builtinKinds()))
	}
	return c, nil
}

// resourceKinds are the two names of the builtin that KEP-2299 adds; it is there in a
// Composition.
func resourceKinds() []string { return []string{"ResourceAccumulator", "ResourceGenerator"} }

// builtinKinds are the kinds of apiVersion builtin.
func builtinKinds() []string {
	return append(resourceKinds(),
		"AnnotationsTransformer", "ConfigMapGenerator", "HashTransformer", "HelmChartInflationGenerator",
		"IAMPolicyGenerator", "ImageTagTransformer", "LabelTransformer", "NamespaceTransformer",
		"PatchJson6902Transformer", "PatchStrategicMergeTransformer", "PatchTransformer", "PrefixSuffixTransformer",
		"PrefixTransformer", "ReplacementTransformer", "ReplicaCountTransformer", "SecretGenerator",
		"SuffixTransformer", "ValueAddTransformer")
}

// wellFormed refuses metadata of a shape that readers of resources trip over.
func (d document) wellFormed() error {
	_, meta := d.field("metadata")
	if meta == nil || isNull(meta) {
		return nil
	}
	if meta.Kind != yaml.MappingNode {
		return d.errorf(meta, "metadata is a mapping, this is %s", describe(meta))
	}
	for _, name := range []string{"name", "namespace"} {
		if _, v := lookup(meta, name); v != nil && v.Kind != yaml.ScalarNode {
			return d.errorf(v, "metadata.%s is a name, this is %s", name, describe(v))
		}
	}
	for _, name := range []string{"labels", "annotations"} {
		_, m := lookup(meta, name)
		if m == nil || isNull(m) {
			continue
		}
		if m.Kind != yaml.MappingNode {
			return d.errorf(m, "metadata.%s is a mapping, this is %s", name, describe(m))
		}
		for i := 1; i < len(m.Content); i += 2 {
			if m.Content[i].Kind != yaml.ScalarNode {
				return d.errorf(m.Content[i], "metadata.%s.%s is text, this is %s", name, m.Content[i-1].Value, describe(m.Content[i]))
			}
		}
	}
	return nil
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return "a single value"
	case yaml.MappingNode:
		return "a mapping"
	}
	return "something else"
}

// kebab writes a Kind as a name: JavaApplication becomes java-application, HTTPRoute
// http-route.
func kebab(kind string) string {
	var b strings.Builder
	rs := []rune(kind)
	for i, r := range rs {
		if i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(rs[i-1]) || (i+1 < len(rs) && unicode.IsLower(rs[i+1]))) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// namesRuntime tells whether a config says how its function is run: see inline.
func (c functionConfig) namesRuntime() bool {
	if key, _ := c.field(runtimeField); key != nil {
		return true
	}
	if spec, err := c.node.Pipe(yaml.Lookup("metadata", "configFn")); err == nil && !spec.IsNilOrEmpty() {
		return true
	}
	notes := c.node.GetAnnotations()
	return slices.ContainsFunc([]string{functionKey, legacyFunctionKey, containerKey}, func(key string) bool { return notes[key] != "" })
}

// inline takes the runtime out of a config: the field wins over the annotations. The
// field is removed, as it is no part of the function's own schema.
func (c functionConfig) inline() (*Inline, error) {
	if key, value := c.field(runtimeField); key != nil {
		spec, err := c.node.Pipe(yaml.Clear(runtimeField))
		if err != nil {
			return nil, c.errorf(key, "reading runtime: %v", err)
		}
		return c.inlineOf(spec, value.Line, fieldOfRuntime)
	}
	notes := c.node.GetAnnotations()
	for _, key := range []string{functionKey, legacyFunctionKey} {
		if text := notes[key]; text != "" {
			spec, err := yamldoc.One([]byte(text))
			if err != nil {
				return nil, c.errorf(c.document.node, "the annotation %s is not valid YAML: %v", key, err)
			}
			c.linesOf(key, spec)
			return c.inlineOf(yaml.NewRNode(spec), c.document.node.Line, "the annotation "+key)
		}
	}
	if spec, err := c.node.Pipe(yaml.Lookup("metadata", "configFn")); err == nil && !spec.IsNilOrEmpty() {
		return c.inlineOf(spec, spec.YNode().Line, "the field metadata.configFn")
	}
	if image := notes[containerKey]; image != "" {
		spec := yaml.NewMapRNode(&map[string]string{"image": image})
		return &Inline{
			Runtime: catalog.Runtime{Kind: "container", Spec: spec, Line: c.document.node.Line},
			Source:  "the annotation " + containerKey, Where: c.where(c.document.node),
		}, nil
	}
	return nil, nil //nolint:nilnil // a config without a runtime is the usual case
}

// linesOf gives what was read from the text of an annotation the lines of the file, and none
// where its lines are written otherwise.
func (c functionConfig) linesOf(key string, spec *yaml.Node) {
	_, meta := c.field("metadata")
	_, notes := lookup(meta, "annotations")
	_, text := lookup(notes, key)
	switch {
	case spec == nil:
	case text != nil && (text.Style&yaml.LiteralStyle != 0 || !strings.Contains(strings.TrimRight(text.Value, "\n"), "\n")):
		shiftLines(spec, textStart(text))
	default:
		clearLines(spec)
	}
}

// inlineOf reads {container: …} or {exec: …}, strictly: one runtime and nothing else.
func (c functionConfig) inlineOf(spec *yaml.RNode, line int, source string) (*Inline, error) {
	at := &yaml.Node{Line: line}
	if spec == nil || spec.YNode() == nil || spec.YNode().Kind != yaml.MappingNode {
		return nil, c.errorf(at, "%s is not a mapping", source)
	}
	in := &Inline{Source: source, Where: c.where(c.document.node)}
	names, err := spec.Fields()
	if err != nil {
		return nil, c.errorf(at, "reading %s: %v", source, err)
	}
	for _, name := range names {
		value := spec.Field(name).Value
		if name == "deferFailure" {
			if err := k8syaml.Unmarshal([]byte(value.MustString()), &in.DeferFailure); err != nil {
				return nil, c.errorf(at, "%s: deferFailure is true or false", source)
			}
			continue
		}
		if catalog.RuntimeField(name) {
			return nil, c.errorf(at, "%s: %s is a field of a runtime and belongs inside of one, not beside it", source, name)
		}
		if in.Kind != "" {
			return nil, c.errorf(at, "%s names two runtimes, %s and %s", source, in.Kind, name)
		}
		in.Runtime = catalog.Runtime{Kind: name, Spec: value, Line: line}
	}
	if in.Kind == "" {
		return nil, c.errorf(at, "%s names no runtime (container, exec, starlark)", source)
	}
	return in, nil
}

// nativeStarlark are kinds that carry their own program: kpt's starlark function. They run
// without a catalog.
func (c functionConfig) nativeStarlark() bool {
	return c.id.Group == "fn.kpt.dev" && c.id.Kind == "StarlarkRun"
}

// step turns a function config into a Step.
func (c functionConfig) step(role Role, at place, catalogs []CatalogRef) (Step, error) {
	in, err := c.inline()
	if err != nil {
		return Step{}, err
	}
	if in == nil && c.nativeStarlark() {
		in = &Inline{
			Runtime: catalog.Runtime{Kind: "starlark", Spec: yaml.NewMapRNode(nil), Line: c.document.node.Line},
			Source:  fmt.Sprintf("the kind %s", c.id.Kind), Where: c.where(c.document.node),
		}
	}
	config, err := c.normal()
	if err != nil {
		return Step{}, err
	}
	return Step{
		Where: c.where(c.document.node), Dir: at.dir, Work: at.dir, Role: role, ID: c.id, Name: c.name,
		Config: config, Inline: in, Catalogs: catalogs,
	}, nil
}

// value is the config as kustomize will understand it.
func (c functionConfig) value() (map[string]any, error) {
	var v map[string]any
	if err := c.document.node.Decode(&v); err != nil {
		return nil, c.errorf(c.document.node, "it cannot be read: %v", err)
	}
	return v, nil
}

// noJSON says why a config is nothing that JSON has words for.
func (c functionConfig) noJSON(err error) error {
	var kind *json.UnsupportedTypeError
	var value *json.UnsupportedValueError
	switch {
	case errors.As(err, &kind):
		return c.errorf(c.document.node, "a key in it is no text: put it in quotes")
	case errors.As(err, &value):
		return c.errorf(c.document.node, "it holds the number %s, which JSON cannot represent", value.Str)
	}
	return c.errorf(c.document.node, "it cannot be written as JSON: %v", err)
}

// normal is the config as functions get it from kustomize: through JSON, so that 0o17 is 15,
// and what YAML 1.1 would take for a boolean is quoted.
func (c functionConfig) normal() (*yaml.RNode, error) {
	v, err := c.value()
	if err != nil {
		return nil, err
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil, c.noJSON(err)
	}
	text, err := k8syaml.JSONToYAML(j)
	if err != nil {
		return nil, c.errorf(c.document.node, "it cannot be written as YAML: %v", err)
	}
	n, err := yaml.Parse(string(text))
	if err != nil {
		return nil, c.errorf(c.document.node, "it cannot be written as YAML: %v", err)
	}
	return n, nil
}
