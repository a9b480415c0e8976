package fnexec

import (
	"bytes"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// batchSize is how many items one encoder of the library prints at most. An encoder keeps all
// events of a document and copies them as they grow: one for a thousand items takes twice as long.
const batchSize = 16

// Encode prints the list as block YAML, with the keys apiVersion, kind, items, functionConfig and
// results in this order. It does not change the list.
func (l *ResourceList) Encode() ([]byte, error) {
	batches, err := encodeItems(l.Items)
	if err != nil {
		return nil, fmt.Errorf("writing the resource list: %w", err)
	}
	rest := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	if !yaml.IsMissingOrNull(l.FunctionConfig) {
		rest.Content = append(rest.Content, yamldoc.Text("functionConfig"), l.FunctionConfig.YNode())
	}
	if !yaml.IsMissingOrNull(l.Results) {
		rest.Content = append(rest.Content, yamldoc.Text("results"), l.Results.YNode())
	}
	var tail []byte
	if len(rest.Content) > 0 {
		if tail, err = encode(rest); err != nil {
			return nil, fmt.Errorf("writing the resource list: %w", err)
		}
	}
	head := "apiVersion: " + listAPIVersion + "\nkind: " + listKind + "\nitems:\n"
	if len(l.Items) == 0 {
		head = "apiVersion: " + listAPIVersion + "\nkind: " + listKind + "\nitems: []\n"
	}
	size := len(head) + len(tail)
	for _, b := range batches {
		size += len(b)
	}
	out := append(make([]byte, 0, size), head...)
	for _, b := range batches {
		out = append(out, b...)
	}
	return append(out, tail...), nil
}

// encodeItems prints items as entries of a list that is not indented, as in a ResourceList, so
// that batches can be concatenated.
func encodeItems(items []*yaml.RNode) ([][]byte, error) {
	batches := make([][]byte, (len(items)+batchSize-1)/batchSize)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range batches {
		part := items[i*batchSize : min((i+1)*batchSize, len(items))]
		g.Go(func() error {
			var err error
			batches[i], err = encodeBatch(part)
			return err
		})
	}
	return batches, g.Wait()
}

// encodeBatch prints a batch. Neighbouring items that are not simple are printed by the library.
func encodeBatch(items []*yaml.RNode) ([]byte, error) {
	var out []byte
	var odd []*yaml.Node
	flush := func() error {
		if len(odd) == 0 {
			return nil
		}
		text, err := encode(&yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Content: odd})
		out, odd = append(out, text...), nil
		return err
	}
	var text []byte
	for _, item := range items {
		n := item.YNode()
		var ok bool
		if text, ok = appendEntry(text[:0], n); !ok {
			odd = append(odd, n)
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		out = append(out, text...)
	}
	err := flush()
	return out, err
}

func encode(n *yaml.Node) (data []byte, err error) {
	defer func() {
		// A program that uses this package may pass a malformed tree, which the library does not
		// expect.
		if r := recover(); r != nil {
			data, err = nil, fmt.Errorf("the YAML printer stopped with an internal error: %v", r)
		}
	}()
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
