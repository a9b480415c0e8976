package kptfile

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
)

// Name is the file name of a Kptfile.
const Name = "Kptfile"

// Kind is the kind of a Kptfile.
const Kind = "Kptfile"

// The versions of a Kptfile. V1Alpha2 has functions with image and config only, and no status.
const (
	V1       = "kpt.dev/v1"
	V1Alpha2 = "kpt.dev/v1alpha2"
)

// The annotations of a Kptfile that change how the package is rendered.
const (
	breadthKey = "kpt.dev/bfs-rendering"
	saveKey    = "kpt.dev/save-on-render-failure"
)

// MaxSize is the maximum size of a Kptfile in bytes.
const MaxSize = 16 << 20

// maxFunctions is the maximum number of functions in a list of a pipeline.
const maxFunctions = 1000

// Kptfile is what a Kptfile says about rendering its package.
type Kptfile struct {
	APIVersion    string // V1 or V1Alpha2
	Name          string // metadata.name
	BreadthFirst  bool   // packages above are rendered before those below
	SaveOnFailure bool   // what ran before a failure is written
	Mutators      []Function
	Validators    []Function
}

// Function is an entry of a pipeline. It has either an Image or a Command.
type Function struct {
	Line       int    // of the entry
	Name       string // "" for none
	Image      string // as written, without the prefix that short names get
	Tag        *Tag   // nil for none
	Command    string // exec as written
	Words      []string
	ConfigPath string // relative to the package, with slashes, in its shortest form; "" for none
	ConfigLine int    // of configPath or configMap
	ConfigMap  []Pair // in the order written; nil for none
	Only       selector.Selection
}

// Title returns what a message calls the function.
func (f Function) Title() string {
	for _, title := range []string{f.Name, f.Image} {
		if title != "" {
			return title
		}
	}
	return f.Command
}

// Pair is an entry of a configMap.
type Pair struct{ Key, Value string }

// Decode reads a Kptfile. file is its name for people. The error is a
// *yamldoc.Errors.
func Decode(file string, data []byte) (*Kptfile, error) {
	ps := yamldoc.Problems{File: file}
	docs := yamldoc.Documents(data, &ps)
	switch {
	case ps.Len() > 0:
	case len(docs) == 0:
		ps.Add(0, "it is empty, and has to be a mapping with kind: Kptfile")
	case len(docs) > 1:
		ps.Add(docs[1].Line, "a second document begins: a Kptfile is one document")
	}
	if ps.Len() > 0 {
		return nil, ps.Err()
	}
	return decode(docs[0].Content[0], &ps)
}

// DecodeNode reads a Kptfile that was parsed, and leaves it as it is. file is its name for people.
// The error is as of Decode.
func DecodeNode(file string, n *yaml.Node) (*Kptfile, error) {
	ps := yamldoc.Problems{File: file}
	own := yaml.NewRNode(n).Copy().YNode()
	if err := yamldoc.Flatten(own); err != nil {
		return nil, yamldoc.In(file, failure.Unexpected, err)
	}
	return decode(own, &ps)
}

// decode reads a Kptfile that is flat. It may change the node.
func decode(n *yaml.Node, ps *yamldoc.Problems) (*Kptfile, error) {
	v := ps.Read(n)
	k := &Kptfile{}
	if !v.Map() || !k.readType(v) {
		return nil, ps.Err()
	}
	known(v, k.APIVersion)
	k.readMetadata(v.Get("metadata"))
	p := v.Get("pipeline")
	k.Mutators = k.functions(p.Get("mutators"))
	k.Validators = k.functions(p.Get("validators"))
	if err := ps.Err(); err != nil {
		return nil, err
	}
	return k, nil
}

// readType reads kind and apiVersion, and reports whether the rest can be read.
func (k *Kptfile) readType(v yamldoc.Value) bool {
	kind, version := v.Get("kind"), v.Get("apiVersion")
	if kind.OneOf(Kind) == "" {
		return false
	}
	switch text := version.TextOnly(); text {
	case V1, V1Alpha2:
		k.APIVersion = text
		return true
	case "":
		version.Need()
	case "kpt.dev/v1alpha1":
		version.Fail("%s is the format of kpt before 1.0, whose packages have no pipeline: kpt's documentation says how to migrate one to %s", text, V1)
	default:
		version.Fail("must be %s or %s, not %s", V1, V1Alpha2, yamldoc.Quote(text))
	}
	return false
}

// readMetadata reads the name and the annotations that change a render.
func (k *Kptfile) readMetadata(v yamldoc.Value) {
	k.Name = v.Get("name").Text()
	v.Get("name").Need()
	if k.APIVersion == V1Alpha2 {
		return
	}
	notes := v.Get("annotations").Pairs()
	k.BreadthFirst = strings.EqualFold(notes[breadthKey], "true")
	k.SaveOnFailure = strings.EqualFold(notes[saveKey], "true")
}

// functions reads a list of functions.
func (k *Kptfile) functions(v yamldoc.Value) []Function {
	entries := v.Each()
	if len(entries) > maxFunctions {
		v.Fail("%d functions, the limit is %d", len(entries), maxFunctions)
		return nil
	}
	var out []Function
	for _, e := range entries {
		if !e.Present() {
			e.Fail("a function is a mapping with image or exec")
			continue
		}
		if e.Map() {
			out = append(out, function(e))
		}
	}
	return out
}

// function reads a function.
func function(v yamldoc.Value) Function {
	f := Function{
		Line: v.Line(), Name: v.Get("name").Text(), Image: v.Get("image").Text(), Command: v.Get("exec").Text(),
		Only: selection(v),
	}
	image, exec := v.Get("image"), v.Get("exec")
	switch {
	case f.Image != "" && f.Command != "":
		exec.Fail("a function has image or exec, this has both")
	case f.Image == "" && f.Command == "" && !image.Misspelt() && !exec.Misspelt():
		v.Fail("a function needs image or exec, this has neither")
	case f.Command != "":
		f.Words = words(exec, f.Command)
	}
	if tag := v.Get("tag"); tag.Text() != "" {
		f.Tag = readTag(tag)
		switch {
		case f.Command != "":
			tag.Fail("a tag is that of an image, and this function has exec")
		case strings.Contains(f.Image, "@"):
			tag.Fail("the image is pinned by its digest, which no tag may change")
		}
	}
	path, pairs := v.Get("configPath"), v.Get("configMap")
	if path.Text() != "" {
		f.ConfigPath, f.ConfigLine = configPath(path), path.Line()
	}
	for key, value := range pairs.Fields() {
		f.ConfigMap, f.ConfigLine = append(f.ConfigMap, Pair{key.Value, value.Text()}), pairs.Line()
	}
	if f.ConfigPath != "" && len(f.ConfigMap) > 0 {
		pairs.Fail("a function has configPath or configMap, this has both")
	}
	return f
}

// String describes a Kptfile for messages of tests.
func (k *Kptfile) String() string {
	return fmt.Sprintf("%s %s: %d mutators, %d validators", k.APIVersion, k.Name, len(k.Mutators), len(k.Validators))
}
