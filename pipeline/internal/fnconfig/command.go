package fnconfig

import (
	"fmt"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// Command is a function that the user calls by flags, and that no file lists.
type Command struct {
	Where string // for messages: the flags that name it
	Dir   string // absolute: the working directory, which the program is relative to
	Role  Role
	Only  selector.Selection

	Program *Program // what runs; nil if the config says it, or a catalog
	Config  *File    // the functionConfig; nil for a ConfigMap of Values
	Values  []Value
}

// Program is the runtime that a flag names, which permits it to run, or a function of a catalog.
type Program struct {
	By   string // the flag: "--image"
	Kind string // of the runtime, or NamedKind
	Spec any    // of the runtime, or the name
}

// File is a file of a functionConfig that was read.
type File struct {
	Path string // as the user knows it
	Dir  string // absolute: what paths in it are relative to
	Data []byte
}

// Value is an entry of the ConfigMap that is the functionConfig.
type Value struct{ Key, Value string }

// inputName is the name of the ConfigMap, as kpt has it.
const inputName = "function-input"

// Step returns the Step of the function.
func (c Command) Step() (Step, error) {
	config, at, err := c.config()
	if err != nil {
		return Step{}, err
	}
	s, err := config.Step(c.Role, at, nil)
	if err != nil {
		return Step{}, err
	}
	s.Work, s.Only.Flags = c.Dir, c.Only
	if c.Program == nil {
		return s, nil
	}
	s.Only.Selection = selector.Selection{}
	// The runtime of the config is gone: the user names another one.
	var spec yaml.Node
	if err := spec.Encode(c.Program.Spec); err != nil {
		return Step{}, fmt.Errorf("writing the runtime: %w", err)
	}
	s.Where, s.Dir = c.Where, c.Dir
	return s.RunBy(&Inline{
		Runtime: catalog.Runtime{Kind: c.Program.Kind, Spec: yaml.NewRNode(&spec)},
		Source:  "the flag " + c.Program.By, Where: c.Where, Flag: c.Program.By,
	}), nil
}

// config reads the functionConfig.
func (c Command) config() (Config, source.Place, error) {
	if c.Config == nil {
		config, err := ReadConfig(c.input())
		return config, source.Place{Dir: c.Dir, Display: "."}, err
	}
	at := source.Place{Dir: c.Config.Dir}
	docs, err := source.ParseDocuments(c.Config.Path, c.Config.Data)
	if err != nil {
		return Config{}, at, err
	}
	if len(docs) != 1 {
		return Config{}, at, &source.SyntaxError{Where: c.Config.Path, Msg: fmt.Sprintf("a functionConfig is one document, and it has %d", len(docs))}
	}
	config, err := ReadConfig(docs[0])
	return config, at, err
}

// input returns the ConfigMap of Values.
func (c Command) input() source.Document {
	data := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, v := range c.Values {
		data.Content = append(data.Content, yamldoc.Text(v.Key), yamldoc.Text(v.Value))
	}
	meta := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{yamldoc.Text("name"), yamldoc.Text(inputName)}}
	return source.Document{File: c.Where, Node: &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{
		yamldoc.Text("apiVersion"), yamldoc.Text("v1"), yamldoc.Text("kind"), yamldoc.Text("ConfigMap"),
		yamldoc.Text("metadata"), meta, yamldoc.Text("data"), data,
	}}}
}
