package kptfile

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/google/shlex"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
)

// fields are the known fields of a mapping: each has the fields below it. A field without any may
// hold anything.
type fields map[string]fields

// each is the name under which a list has the fields of its entries.
const each = "[]"

// top are the fields of a Kptfile.
func top(version string) fields {
	git := fields{"repo": nil, "directory": nil, "ref": nil}
	lock := fields{"repo": nil, "directory": nil, "ref": nil, "commit": nil}
	function := fields{"image": nil, "configPath": nil, "configMap": nil}
	f := fields{
		"apiVersion": nil, "kind": nil,
		"metadata":     {"name": nil, "namespace": nil, "labels": nil, "annotations": nil},
		"upstream":     {"type": nil, "git": git, "updateStrategy": nil},
		"upstreamLock": {"type": nil, "git": lock},
		"info": {
			"site": nil, "emails": nil, "license": nil, "licenseFile": nil, "description": nil,
			"keywords": nil, "man": nil,
		},
		"pipeline":  {"mutators": {each: function}, "validators": {each: function}},
		"inventory": {"namespace": nil, "name": nil, "inventoryID": nil, "labels": nil, "annotations": nil},
	}
	if version == V1Alpha2 {
		f["info"]["doc"] = nil
		return f
	}
	for _, name := range []string{"exec", "name", "tag", selector.SelectorsField, selector.ExcludeField} {
		function[name] = nil
	}
	f["upstreamLock"]["generic"] = fields{"storeID": nil, "resourceID": nil, "resourceVersion": nil}
	f["info"]["readinessGates"] = fields{each: {"conditionType": nil}}
	step := fields{
		"name": nil, "image": nil, "exec": nil, "executionError": nil, "stderr": nil, "exitCode": nil,
		"results": nil, "errorResults": nil,
	}
	f[statusField] = fields{
		conditionsField: {each: {"type": nil, "status": nil, "reason": nil, "message": nil}},
		renderField:     {"mutationSteps": {each: step}, "validationSteps": {each: step}, "errorSummary": nil},
	}
	return f
}

// known refuses fields that a Kptfile does not have.
func known(v yamldoc.Value, version string) { top(version).check(v) }

func (f fields) check(v yamldoc.Value) {
	if f == nil || !v.Present() {
		return
	}
	if entry, ok := f[each]; ok {
		for _, e := range v.Each() {
			entry.check(e)
		}
		return
	}
	names := make([]string, 0, len(f))
	for name := range f {
		names = append(names, name)
	}
	v.Only(sorted(names)...)
	for name, below := range f {
		below.check(v.Get(name))
	}
}

// words divides exec into a program and its arguments as kpt does.
func words(v yamldoc.Value, text string) []string {
	list, err := shlex.Split(text)
	if err != nil {
		v.Fail("%s cannot be divided into words: %w", yamldoc.Quote(text), err)
		return nil
	}
	if len(list) == 0 || list[0] == "" {
		v.Fail("%s names no program", yamldoc.Quote(text))
		return nil
	}
	return list
}

// configPath reads the path of a functionConfig, which is a file of the package.
func configPath(v yamldoc.Value) string {
	text := v.Text()
	clean := path.Clean(text)
	switch {
	case strings.TrimSpace(text) == "":
		v.Fail("it is empty")
	case path.IsAbs(text) || filepath.IsAbs(text):
		v.Fail("%s is absolute: a functionConfig is a file of its package", yamldoc.Quote(text))
	case !filepath.IsLocal(filepath.FromSlash(clean)) || strings.Contains(text, `\`):
		v.Fail("%s leads out of the package: a functionConfig is a file of its package", yamldoc.Quote(text))
	case clean == "." || clean == Name:
		v.Fail("%s is no file of a functionConfig", yamldoc.Quote(text))
	default:
		return clean
	}
	return ""
}

// selection reads the selectors. kpt takes numbers and booleans in them as the texts that are
// written.
func selection(v yamldoc.Value) selector.Selection {
	for _, field := range []string{selector.SelectorsField, selector.ExcludeField} {
		asTexts(v.Get(field).Node())
	}
	return selector.Decode(v)
}

func asTexts(n *yaml.Node) {
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode && !yamldoc.IsNull(n) {
		n.Tag = yaml.NodeTagString
	}
	for i, c := range n.Content {
		if n.Kind != yaml.MappingNode || i%2 == 1 {
			asTexts(c)
		}
	}
}
