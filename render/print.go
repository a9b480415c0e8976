package render

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/kustomize/kyaml/yaml"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/pipeline"
)

// YAML prints resources as `kustomize build` does: sorted keys, documents separated by `---`.
func YAML(items []*yaml.RNode) ([]byte, error) {
	texts := make([][]byte, len(items))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0)) // printing is bound by the CPU
	for from := 0; from < len(items); from += printedAtOnce {
		g.Go(func() error {
			for i := from; i < min(from+printedAtOnce, len(items)); i++ {
				var err error
				if texts[i], err = document(items[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return bytes.Join(texts, []byte("---\n")), nil
}

// printedAtOnce is the number of resources that one goroutine prints.
const printedAtOnce = 4

func document(n *yaml.RNode) ([]byte, error) {
	j, err := n.MarshalJSON()
	var text []byte
	if err == nil {
		text, err = k8syaml.JSONToYAML(j)
	}
	if err != nil {
		if why := pipeline.Misfit(n); why != "" {
			err = errors.New(why)
		}
		return nil, fmt.Errorf("printing %s %s: %w", n.GetKind(), n.GetName(), err)
	}
	return text, nil
}
