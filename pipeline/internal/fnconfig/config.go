package fnconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/source"

	k8syaml "sigs.k8s.io/yaml"
)

// DefaultVersion adds the apiVersion to a config of kustomize's own kinds that has none.
func DefaultVersion(d source.Document) {
	_, kind := d.Field("kind")
	if key, _ := d.Field("apiVersion"); key != nil || kind == nil || d.Node.Kind != yaml.MappingNode {
		return
	}
	var version string
	switch {
	case slices.Contains(BuiltinKinds(), kind.Value):
		version = BuiltinVersion
	case kind.Value == source.KustomizationKind:
		version = source.KustomizationAPIVersion
	default:
		return
	}
	d.Node.Content = append([]*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: "apiVersion"},
		{Kind: yaml.ScalarNode, Tag: yaml.NodeTagString, Value: version},
	}, d.Node.Content...)
}

// LocalConfigKey is the annotation of resources that kustomize does not print.
const LocalConfigKey = "config.kubernetes.io/local-config"

// BuiltinVersion is the apiVersion of kustomize's own generators and transformers.
const BuiltinVersion = "builtin"

// Config is a functionConfig.
type Config struct {
	source.Document
	Node    *yaml.RNode
	ID      catalog.FunctionID
	Name    string
	Builtin bool
}

// ReadConfig reads a function config. It needs a kind, and an apiVersion unless it names its own
// runtime; metadata.name defaults to the kind in kebab case (KEP-2299, "Notes").
func ReadConfig(d source.Document) (Config, error) {
	c := Config{Document: d}
	if d.Node.Kind != yaml.MappingNode {
		return c, d.Errorf(d.Node, "a function config is a mapping, this is %s", yamldoc.Describe(d.Node))
	}
	if err := d.WellFormed(); err != nil {
		return c, err
	}
	_, apiVersion := d.Field("apiVersion")
	_, kind := d.Field("kind")
	if kind == nil || kind.Value == "" {
		return c, d.Errorf(d.Node, "a function config needs a kind")
	}
	if yamldoc.IsNull(apiVersion) {
		apiVersion = yaml.NewStringRNode("").YNode()
	}
	for i, n := range []*yaml.Node{apiVersion, kind} {
		if n.Kind != yaml.ScalarNode || n.ShortTag() != yaml.NodeTagString {
			return c, d.Errorf(n, "%s has to be plain text", []string{"apiVersion", "kind"}[i])
		}
	}
	c.Node = yaml.NewRNode(d.Node)
	if apiVersion.Value == "" && !c.namesRuntime() {
		return c, d.Errorf(d.Node, "the function config of kind %s needs an apiVersion%s", kind.Value, source.DidYouMean(kind.Value, BuiltinKinds()))
	}
	c.ID = catalog.IDOf(apiVersion.Value, kind.Value)
	if c.ID.APIVersion() != apiVersion.Value {
		return c, d.Errorf(apiVersion, "%q is no apiVersion: group/version is, or a version", apiVersion.Value)
	}
	if c.Name = c.Node.GetName(); c.Name == "" {
		c.Name = catalog.DefaultName(kind.Value)
	}
	c.Builtin = apiVersion.Value == BuiltinVersion
	if c.Builtin && !slices.Contains(BuiltinKinds(), kind.Value) {
		return c, d.Errorf(kind, "there is no builtin %s%s", kind.Value, source.DidYouMean(kind.Value, BuiltinKinds()))
	}
	return c, nil
}

// ResourceKinds are the two names of the builtin that KEP-2299 adds for Compositions.
func ResourceKinds() []string { return []string{"ResourceAccumulator", "ResourceGenerator"} }

// nativeStarlark reports whether a config holds its own program: kpt's StarlarkRun. It runs
// without a catalog, unless one that is trusted has a function for it.
func (c Config) nativeStarlark() bool {
	return c.ID.Group == "fn.kpt.dev" && c.ID.Kind == "StarlarkRun"
}

// Step returns the Step of a function config.
func (c Config) Step(role Role, at source.Place, catalogs []CatalogRef) (Step, error) {
	in, err := c.Inline()
	if err != nil {
		return Step{}, err
	}
	if (in == nil || in.Kind == "") && c.nativeStarlark() {
		native := &Inline{
			Runtime: catalog.Runtime{Kind: "starlark", Spec: yaml.NewMapRNode(nil), Line: c.Document.Node.Line},
			Source:  fmt.Sprintf("the kind %s", c.ID.Kind), Where: c.Where(c.Document.Node),
			Instead: &catalog.Query{Config: c.ID},
		}
		if in != nil {
			native.Only = in.Only
		}
		in = native
	}
	config, err := c.Normal()
	if err != nil {
		return Step{}, err
	}
	s := Step{
		Where: c.Where(c.Document.Node), Dir: at.Dir, Work: at.Dir, Role: role, ID: c.ID, Name: c.Name,
		Config: config, Catalogs: catalogs,
	}
	if in != nil {
		s.Only.Selection = in.Only
	}
	return s.RunBy(in), nil
}

// Value returns the config as kustomize decodes it.
func (c Config) Value() (map[string]any, error) {
	var v map[string]any
	if err := c.Document.Node.Decode(&v); err != nil {
		return nil, c.Errorf(c.Document.Node, "it cannot be read: %v", err)
	}
	return v, nil
}

// NoJSON returns why a config cannot be written as JSON.
func (c Config) NoJSON(err error) error {
	var kind *json.UnsupportedTypeError
	var value *json.UnsupportedValueError
	switch {
	case errors.As(err, &kind):
		return c.Errorf(c.Document.Node, "a key in it is no text: put it in quotes")
	case errors.As(err, &value):
		return c.Errorf(c.Document.Node, "it holds the number %s, which JSON cannot represent", value.Str)
	}
	return c.Errorf(c.Document.Node, "it cannot be written as JSON: %v", err)
}

// Normal returns the config as kustomize passes it to functions: converted to JSON and back, so
// that 0o17 is 15, and words that YAML 1.1 reads as booleans are quoted.
func (c Config) Normal() (*yaml.RNode, error) {
	v, err := c.Value()
	if err != nil {
		return nil, err
	}
	j, err := json.Marshal(v)
	if err != nil {
		return nil, c.NoJSON(err)
	}
	text, err := k8syaml.JSONToYAML(j)
	if err != nil {
		return nil, c.Errorf(c.Document.Node, "it cannot be written as YAML: %v", err)
	}
	n, err := yaml.Parse(string(text))
	if err != nil {
		return nil, c.Errorf(c.Document.Node, "it cannot be written as YAML: %v", err)
	}
	return n, nil
}

// checkTexts refuses texts in the config that exceed a limit when they are parsed.
func (c Config) checkTexts() error {
	v, err := c.Value()
	if err != nil {
		return err
	}
	return c.CheckText(c.Document.Node, v)
}
