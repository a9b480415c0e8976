package fnconfig

import (
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/builtins" //nolint:staticcheck // its types are how kustomize reads the configs of its builtins
	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// IsKustomization reports whether a transformer of a Composition is a Kustomization.
func (c Config) IsKustomization() bool {
	return c.ID.Group == source.KustomizeGroup && c.ID.Kind == source.KustomizationKind
}

// InlineKustomization has the fields of a Kustomization.
type InlineKustomization struct {
	types.Kustomization
	Catalogs []string `json:"catalogs"`
}

// resources has the fields of the builtin that KEP-2299 adds.
type resources struct {
	Files []string `json:"files"`
	Paths []string `json:"paths"`
}

// prefixSuffix has the fields of a builtin for which kustomize has two.
type prefixSuffix struct {
	Prefix     string            `json:"prefix"`
	Suffix     string            `json:"suffix"`
	FieldSpecs []types.FieldSpec `json:"fieldSpecs"`
}

// plugins are the types that kustomize decodes the configs of its builtins into.
func plugins() map[string]any {
	return map[string]any{
		"ResourceAccumulator":            resources{},
		"ResourceGenerator":              resources{},
		"AnnotationsTransformer":         builtins.AnnotationsTransformerPlugin{},
		"ConfigMapGenerator":             builtins.ConfigMapGeneratorPlugin{},
		"HashTransformer":                builtins.HashTransformerPlugin{},
		HelmGenerator:                    builtins.HelmChartInflationGeneratorPlugin{},
		"IAMPolicyGenerator":             builtins.IAMPolicyGeneratorPlugin{},
		"ImageTagTransformer":            builtins.ImageTagTransformerPlugin{},
		"LabelTransformer":               builtins.LabelTransformerPlugin{},
		"NamespaceTransformer":           builtins.NamespaceTransformerPlugin{},
		"PatchJson6902Transformer":       builtins.PatchJson6902TransformerPlugin{},
		"PatchStrategicMergeTransformer": builtins.PatchStrategicMergeTransformerPlugin{},
		"PatchTransformer":               builtins.PatchTransformerPlugin{},
		"PrefixSuffixTransformer":        prefixSuffix{},
		"PrefixTransformer":              builtins.PrefixTransformerPlugin{},
		"ReplacementTransformer":         builtins.ReplacementTransformerPlugin{},
		"ReplicaCountTransformer":        builtins.ReplicaCountTransformerPlugin{},
		"SecretGenerator":                builtins.SecretGeneratorPlugin{},
		"SuffixTransformer":              builtins.SuffixTransformerPlugin{},
		"ValueAddTransformer":            builtins.ValueAddTransformerPlugin{},
	}
}

// BuiltinKinds are the kinds of apiVersion builtin.
func BuiltinKinds() []string { return slices.Sorted(maps.Keys(plugins())) }

// PluginType returns the type of a builtin's config, one without fields if the kind is unknown.
func PluginType(kind string) reflect.Type {
	if plugin := plugins()[kind]; plugin != nil {
		return reflect.TypeOf(plugin)
	}
	return reflect.TypeFor[struct{}]()
}

// IsGenerator reports whether a builtin has no input.
func IsGenerator(kind string) bool { return strings.HasSuffix(kind, "Generator") }

// checkFields refuses fields that a kind does not have, at any depth. kustomize ignores them in
// its builtins.
func (c Config) checkFields(t reflect.Type) error {
	return c.Document.Strangers(t, false)
}

// decode decodes a config into a value of the type that kustomize uses.
func (c Config) decode(into any) error {
	v, err := c.Value()
	if err != nil {
		return err
	}
	j, err := json.Marshal(v)
	if err != nil {
		return c.NoJSON(err)
	}
	err = json.Unmarshal(j, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		// The user does not know the names of embedded types.
		field := slices.DeleteFunc(strings.Split(wrong.Field, "."), func(s string) bool { return strings.ToLower(s[:1]) != s[:1] })
		at := c.Document.Node
		if v := yamldoc.Field(at, field[0]); v != nil {
			at = v
		}
		return c.Errorf(at, "%s of %s: %s is expected, this is %s", strings.Join(field, "."), c.ID.Kind, source.DescribeType(wrong.Type), source.DescribeJSON(wrong.Value))
	}
	if err != nil {
		return c.Errorf(c.Document.Node, "%s cannot be read: %v", c.ID.Kind, err)
	}
	return nil
}

// WithDefaults returns the value of a builtin's config for kustomize: a builtin without fieldSpecs
// gets those of the same field in a Kustomization, and fields that kustomize moves in a
// Kustomization (env) are moved.
func (c Config) WithDefaults(dir string) (map[string]any, error) {
	v, err := c.Value()
	if err != nil {
		return nil, err
	}
	if specs := defaultFieldSpecs(c.ID.Kind); specs != nil && v["fieldSpecs"] == nil {
		v["fieldSpecs"] = specs
	}
	if env, ok := v["env"].(string); ok {
		envs, _ := v["envs"].([]any)
		v["envs"] = append(envs, env)
		delete(v, "env")
	}
	c.NameOfDir(v, dir)
	return v, nil
}

// NameOfDir sets the value that kustomize takes from the name of the directory, which may be a
// virtual one.
func (c Config) NameOfDir(v map[string]any, dir string) {
	if value, _ := v["value"].(string); c.ID.Kind == "ValueAddTransformer" && value == "" {
		v["value"] = filepath.Base(dir)
	}
}

// CheckConfig checks a config as it is declared, without its overrides, and replaces its paths.
func (ps *Paths) CheckConfig(f Config, at source.Place) error {
	switch {
	case f.Builtin:
		t := PluginType(f.ID.Kind)
		plain := f.plain()
		if err := errors.Join(plain.checkFields(t), plain.decode(reflect.New(t).Interface())); err != nil {
			return err
		}
		return errors.Join(f.checkTexts(), ps.TakePaths(f, at))
	case f.IsKustomization():
		return errors.Join(f.plain().checkFields(reflect.TypeFor[InlineKustomization]()), f.checkTexts(), ps.TakePaths(f, at))
	case f.ID.Group == source.KustomizeGroup:
		return f.Errorf(f.Document.Node, "%s as a transformer is not supported: import a Composition by transformersFrom, or name its directory in a ResourceAccumulator", f.ID.Kind)
	}
	return nil
}

// HelmGenerator is the builtin that runs helm.
const HelmGenerator = "HelmChartInflationGenerator"
