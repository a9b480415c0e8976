package rewrite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// captureDir is the name of a virtual directory with a kustomization whose resources are a
// directory of function configs.
const captureDir = ".krmcat-configs"

// configsOfDir evaluates an entry that names a directory. The directory has a kustomization whose
// resources are function configs, which kustomize generates with its builtins. The result is what
// kustomize would pass to its plugin loader. This differs from the output of a build: local configs
// are kept, and names get no hashes.
func (p *plan) configsOfDir(ctx context.Context, k *kustomization, f source.FileRef, at source.Place) ([]listSource, error) {
	for _, o := range p.Places {
		if disk.Within(at.Dir, filepath.Join(o.Dir, source.KustomizationNames()[0])) {
			return nil, f.Errorf("cycle: %s holds %s, which lists it", f.Written, o.Display)
		}
	}
	if *p.dirs++; *p.dirs > maxEvaluated {
		return nil, &source.SyntaxError{
			Where: f.Where, Kind: failure.Untrusted,
			Msg: fmt.Sprintf("%s: directories of function configs list others again and again: that makes more than %d of them", f.Written, maxEvaluated),
		}
	}
	sub := newPlan(source.NewReader(p.FS, p.Options), p.evaluate)
	sub.dirs = p.dirs
	// The configs are not output: the options that apply at the end of a build do not apply to them.
	sub.Options.Helm, sub.helm.never = source.Helm{}, true
	sub.Options.ManagedBy, sub.Options.Reorder = false, source.ReorderUnspecified
	sub.Options.Refused = nil // if one file were left out, the configs could be different
	sub.Places = slices.Clone(p.Places)
	root, err := sub.load(ctx, at)
	if err != nil {
		return nil, err
	}
	if len(sub.steps) > 0 {
		return nil, &source.SyntaxError{Where: sub.steps[0].Where, Msg: fmt.Sprintf(
			"%s is needed to make function configs (listed at %s): a function cannot configure functions",
			sub.steps[0].ID.Kind, f.Where)}
	}
	sub.root = root
	if err := sub.serve(); err != nil {
		return nil, err
	}
	captured, err := sub.capture(ctx, at.Dir, p.metadata)
	if err != nil {
		return nil, err
	}
	return p.sourcesOf(ctx, k, listSource{path: f.Written, at: at, root: f.At}, captured)
}

// sourcesOf groups evaluated configs by their file, if it is known, so that each file becomes one
// virtual file.
func (p *plan) sourcesOf(ctx context.Context, k *kustomization, of listSource, captured []*yaml.Node) ([]listSource, error) {
	var sources []listSource
	for i := 0; i < len(captured); {
		path, err := p.takeOrigin(captured[i])
		if err != nil {
			return nil, err
		}
		docs := []source.Document{{File: of.at.Display, Node: captured[i]}}
		for i++; i < len(captured); i++ {
			next, err := p.peekOrigin(captured[i])
			if err != nil {
				return nil, err
			}
			if next != path {
				break
			}
			if _, err := p.takeOrigin(captured[i]); err != nil {
				return nil, err
			}
			docs = append(docs, source.Document{File: of.at.Display, Node: captured[i]})
		}
		s, err := p.readSource(ctx, k, listSource{path: pathOfConfig(of.path, filepath.Base(of.at.Dir), path), at: of.at, root: of.root}, docs)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}
	return sources, nil
}

// pathOfConfig converts the path of a config. The given path is relative to the directory of the
// evaluation; the result is relative to the kustomization that lists the directory.
func pathOfConfig(entry, base, path string) string {
	rest, ok := strings.CutPrefix(filepath.ToSlash(path), "../"+base+"/")
	switch {
	case path == "":
		return entry
	case ok:
		return filepath.Join(entry, filepath.FromSlash(rest))
	}
	return filepath.Join(entry, "..", strings.TrimPrefix(filepath.ToSlash(path), "../"))
}

// capture builds a directory up to the point where kustomize would load plugins from the result. It
// uses builtins only: no permission is granted yet, so that plugins must be disabled. It prevents
// what a build does at its end: local configs are kept, names get no hashes, and the order is that
// of the files.
func (p *plan) capture(ctx context.Context, real string, origins bool) ([]*yaml.Node, error) {
	dir := filepath.Join(filepath.Dir(real), captureDir)
	from, err := source.RelativeTo(dir, p.root.roots[0])
	if err != nil {
		return nil, err
	}
	k := map[string]any{
		"resources":   []string{filepath.ToSlash(from)},
		"sortOptions": map[string]string{"order": string(types.FIFOSortOrder)},
		"transformers": []string{
			`{"apiVersion":"builtin","kind":"AnnotationsTransformer","metadata":{"name":"keep"},"annotations":{"` + fnconfig.LocalConfigKey +
				`":"false"},"fieldSpecs":[{"path":"metadata/annotations","create":true}]}`,
			`{"apiVersion":"builtin","kind":"AnnotationsTransformer","metadata":{"name":"unhashed"},"annotations":{"` + needsHashKey +
				`":"disabled"},"fieldSpecs":[{"path":"metadata/annotations","create":true}]}`,
		},
	}
	if origins {
		k["buildMetadata"] = []string{types.OriginAnnotations}
	}
	data, err := json.Marshal(k)
	if err != nil {
		return nil, fmt.Errorf("writing a kustomization: %w", err)
	}
	p.overlay.Dirs[dir] = true
	p.overlay.Files[filepath.Join(dir, source.KustomizationNames()[0])] = data
	items, err := p.kustomize(ctx, dir)
	if err != nil {
		return nil, err
	}
	var captured []*yaml.Node
	for _, n := range items {
		if err := resource.Clean(n, func(key string) bool { return key == fnconfig.LocalConfigKey || resource.Orchestration(key) }); err != nil {
			return nil, err
		}
		source.ForgetLines(n.YNode())
		captured = append(captured, n.YNode())
	}
	return captured, nil
}

// kustomize runs kustomize on a directory without functions.
func (p *plan) kustomize(ctx context.Context, dir string) ([]*yaml.RNode, error) {
	b, err := p.build(dir)
	if err != nil {
		return nil, err
	}
	items, err := p.evaluate(ctx, b)
	var failed *bridge.Failure
	if errors.As(err, &failed) {
		err = p.explain(failed)
	}
	return items, err
}

// needsHashKey is the annotation that marks, during a build, the resources whose names get a hash.
const needsHashKey = "internal.config.kubernetes.io/needsHashSuffix"
