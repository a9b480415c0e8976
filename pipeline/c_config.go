package pipeline

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/catalog"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"
)

// defaultVersion writes the apiVersion of a kind of kustomize's own, where there is none.
func defaultVersion(d document) {
	_, kind := d.field("kind")
	if key, _ := d.field("apiVersion"); key != nil || kind == nil || d.node.Kind != yaml.MappingNode {
		return
	}
	var version string
	switch {
	case slices.Contains(builtinKinds(), kind.Value):
		version = builtinVersion
	case kind.Value == kustomizationKind:
		version = kustomizationAPIVersion
	default:
		return
	}
	d.node.Content = append([]*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: "apiVersion"},
		{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: version},
	}, d.node.Content...)
}

const localConfigKey = "config.kubernetes.io/local-config"

// builtinVersion is the apiVersion of kustomize's own generators and transformers.
const builtinVersion = "builtin"

// functionConfig is one document of a list, read.
type functionConfig struct {
	document
	node    *yaml.RNode
	id      catalog.FunctionID
	name    string
	builtin bool
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

// checkTexts is the same for a config.
func (c functionConfig) checkTexts() error {
	v, err := c.value()
	if err != nil {
		return err
	}
	return c.checkText(c.document.node, v)
}
