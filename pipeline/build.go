package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
)

// kustomizeVersion is the kustomize CLI that is built on the api this module requires.
const kustomizeVersion = "v5.8.2"

// Build implements Target.
func (k *kustomization) Build(ctx context.Context, apply Apply) ([]*yaml.RNode, error) {
	return k.build(ctx, k.root.roots[0], newApplied(k.steps, apply))
}

// build lets kustomize build what was planned in a directory.
func (p *plan) build(ctx context.Context, root string, steps *applied) ([]*yaml.RNode, error) {
	m, err := p.kustomize(ctx, root, steps.serve(p))
	for last := (*orderError)(nil); errors.As(err, &last) && !p.split[last.run]; {
		p.split[last.run] = true
		if err = p.serveSheets(); err == nil {
			m, err = p.kustomize(ctx, root, steps.serve(p))
		}
	}
	var failed *BuildError
	if errors.As(err, &failed) {
		return nil, steps.blame(failed)
	}
	if err != nil {
		return nil, err
	}
	if err := steps.missing(); err != nil {
		return nil, err
	}
	items := m.ToRNodeSlice()
	for _, n := range items {
		if err := p.finish(n); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// parseItems reads a stream of documents that kustomize printed.
func parseItems(in []byte) ([]*yaml.RNode, error) {
	var items []*yaml.RNode
	dec := yaml.NewDecoder(bytes.NewReader(in))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		if !yaml.IsYNodeEmptyDoc(&n) {
			items = append(items, yaml.NewRNode(n.Content[0]))
		}
	}
}

// printItems writes a stream of documents for kustomize.
func printItems(items []*yaml.RNode) ([]byte, error) {
	if len(items) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	for _, n := range items {
		if err := enc.Encode(n.YNode()); err != nil {
			return nil, fmt.Errorf("printing resources for kustomize: %w", err)
		}
	}
	if err := enc.Close(); err != nil {
		return nil, fmt.Errorf("printing resources for kustomize: %w", err)
	}
	return out.Bytes(), nil
}

// kustomize has kustomize build the planned tree. serve is called for each run of Steps.
func (p *plan) kustomize(ctx context.Context, dir string, serve bridge.Serve) (resmap.ResMap, error) {
	if err := p.bounded(dir); err != nil {
		return nil, err
	}
	if !p.options.LoadAnywhere {
		p.overlay.Roots = make(map[string]bool, len(p.layers))
		for dir := range p.layers {
			p.overlay.Roots[dir] = true
		}
	}
	b := p.bridge()
	b.Dir, b.Serve = dir, serve
	m, err := b.Run(ctx)
	var failed *bridge.Failure
	if errors.As(err, &failed) {
		err = p.why(failed)
	}
	return m, err
}

// bridge is the build of the tree, but for where it begins.
func (p *plan) bridge() bridge.Build {
	b := bridge.Build{
		Tree: p.overlay, Options: *krusty.MakeDefaultOptions(), Schema: p.setsSchema(),
		Executable: p.options.Executable, TempDir: p.options.TempDir, Steps: len(p.runs) > 0,
	}
	b.Options.AddManagedbyLabel = p.options.ManagedBy
	if p.options.LoadAnywhere {
		b.Options.LoadRestrictions = types.LoadRestrictionsNone
	}
	switch p.options.Reorder {
	case ReorderLegacy:
		b.Options.Reorder = krusty.ReorderOptionLegacy
	case ReorderNone:
		b.Options.Reorder = krusty.ReorderOptionNone
	case ReorderUnspecified:
		b.Options.Reorder = krusty.ReorderOptionUnspecified
	}
	if h := p.options.Helm; h.Enabled && p.runsHelm {
		b.HelmPath = h.Path
		b.Helm = types.HelmConfig{
			Enabled: true, Command: cmp.Or(h.Command, "helm"), ApiVersions: h.APIVersions, KubeVersion: h.KubeVersion, Debug: h.Debug,
		}
	}
	return b
}

// usable is what Ready asks.
func (p *plan) usable() error {
	err := p.bridge().Usable()
	if missing := p.options.Helm.Missing; err == nil && p.runsHelm && missing != nil {
		return &SyntaxError{Where: p.helmWhere, Msg: "helm is needed here", Err: missing, missing: true}
	}
	return err
}

// setsSchema tells whether a kustomization of the tree changes kyaml's schema.
func (p *plan) setsSchema() bool {
	for _, l := range p.layers {
		if len(l.kust.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

// why finds the error that a person can use: the first of a Step, or of the tree, or
// else kustomize's own, without the names of things that exist only in here.
func (p *plan) why(f *bridge.Failure) error {
	switch {
	case f.Step != nil:
		return f.Step
	case f.Refused != nil:
		return &BuildError{Where: p.whereOf(f.Err), Msg: f.Refused.Error(), Err: f.Refused}
	case f.Panicked:
		if known := p.misrememberedFile(); known != nil {
			return known
		}
	}
	if bomb := p.bombFile(); bomb != nil {
		return bomb
	}
	msg, dir := p.unwrap(f.Msg())
	msg = plainIDs(regexp.MustCompile(goValue).ReplaceAllString(msg, ": "))
	if syntax := p.malformed(msg); syntax != nil {
		return syntax
	}
	if dir != "" && (f.Home == "" || !strings.Contains(msg, f.Home)) {
		return p.explain(msg, dir)
	}
	msg = p.asWritten(msg)
	failed := &BuildError{Where: p.whereOf(f.Err), Msg: msg, Err: f.Err}
	if f.Home != "" {
		failed.step = strings.Contains(msg, f.Plugin())
		failed.Msg = strings.TrimPrefix(strings.ReplaceAll(msg, f.Plugin(), "the function"), "plugin ")
	}
	return failed
}

func (p *plan) display() string {
	if p.root == nil {
		return ""
	}
	return p.root.display
}

// finish removes from a resource what shows how it was built, where kustomize would not
// show it.
func (p *plan) finish(n *yaml.RNode) error {
	if ours := "kustomize-" + provenance.GetProvenance().Semver(); n.GetLabels()[konfig.ManagedbyLabelKey] == ours {
		if err := n.PipeE(yaml.Lookup("metadata", "labels"),
			yaml.SetField(konfig.ManagedbyLabelKey, yaml.NewStringRNode("kustomize-"+kustomizeVersion))); err != nil {
			return fmt.Errorf("writing the label %s: %w", konfig.ManagedbyLabelKey, err)
		}
	}
	if !p.metadata {
		return nil
	}
	return p.restoreOrigins(n)
}
