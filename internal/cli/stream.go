package cli

import (
	"context"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
)

// loadStream reads resources from stdin, with the functions that they declare.
func (e *env) loadStream(ctx context.Context, _ pipeline.Options) (pipeline.Target, error) {
	items, err := e.readItems(ctx, &fnInput{dir: toStdout})
	if err != nil {
		return nil, err
	}
	steps, err := pipeline.Declarations{Of: "stdin", Dir: e.Dir}.Steps(items)
	if err != nil {
		return nil, err
	}
	return pipeline.Sequence{Kind: "Stream", Steps: steps}.On(items), nil
}

// localConfig is the annotation of resources that are for tools only.
const localConfig = "config.kubernetes.io/local-config"

// forCluster returns what is for the cluster: without resources that are for tools only, such as
// the configs of functions, as kustomize prints, and without the places of the others.
func forCluster(out render.Output) render.Output {
	kept := render.Output{Records: out.Records, Kind: out.Kind}
	for i, n := range out.Items {
		if v := yamldoc.Field(annotation.Of(n.YNode()), localConfig); v == nil || v.Value == "false" {
			kept.Items, kept.Files = append(kept.Items, n), append(kept.Files, out.Files[i])
		}
	}
	fnexec.StripAnnotations(kept.Items)
	return kept
}
