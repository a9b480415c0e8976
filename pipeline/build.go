package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/openapi"
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

// built is what krusty made of a tree.
type built struct {
	m   resmap.ResMap
	err error
}

// kustomize runs krusty on the planned tree. serve is called for each run of Steps. Only
// one runs at a time: kyaml's schema and the environment belong to the whole process.
//
// Krusty takes no context. When ctx ends it is left behind, in a while, with what it has
// locked, and nothing is served any more: it may be busy for minutes, and who has to wait for
// it is mostly the end of the process.
func (p *plan) kustomize(ctx context.Context, dir string, serve serveFunc) (resmap.ResMap, error) {
	if err := p.bounded(dir); err != nil {
		return nil, err
	}
	var b *bridge
	if len(p.runs) > 0 || p.endsHelm() {
		var err error
		if b, err = openBridge(ctx, p.options, serve); err != nil {
			return nil, err
		}
		defer b.close()
		go b.listen(ctx)
	}
	done := make(chan built, 1)
	go func() {
		var m resmap.ResMap
		err := openapi.Use(p.setsSchema(), func() (err error) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			m, err = p.bridged(ctx, dir, b)
			return err
		})
		done <- built{m, err}
	}()
	select {
	case out := <-done:
		return out.m, out.err
	case <-ctx.Done():
	}
	late := time.NewTimer(leaveAfter)
	defer late.Stop()
	select {
	case <-done: // what it had on the disk is gone
	case <-late.C:
	}
	return nil, context.Cause(ctx)
}

// leaveAfter is how long krusty may take to end once nothing is served any more.
const leaveAfter = 300 * time.Millisecond

// setsSchema tells whether a kustomization of the tree changes kyaml's schema.
func (p *plan) setsSchema() bool {
	for _, l := range p.layers {
		if len(l.kust.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

// serveFunc answers one run of Steps.
type serveFunc func(ctx context.Context, run int, in []byte) ([]byte, error)

// bridged runs krusty with the step bridge open, where there are Steps.
func (p *plan) bridged(ctx context.Context, dir string, b *bridge) (resmap.ResMap, error) {
	home := ""
	config := types.DisabledPluginConfig()
	if len(p.runs) > 0 {
		home = b.home
		config = types.MakePluginConfig(types.PluginRestrictionsNone, types.BploUseStaticallyLinked)
	}
	config.HelmConfig = p.helm()
	if p.endsHelm() {
		config.HelmConfig.Command = b.helmPath()
	}
	unlock, err := lockDown(home, p.options.Helm.Enabled)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m, err := p.runKrusty(dir, config)
	if err == nil {
		err = p.overlay.refused()
	}
	if err != nil {
		return nil, p.why(ctx, b, err)
	}
	return m, nil
}

// runKrusty turns a panic into an error: kustomize and kyaml panic on some input, such as
// a schema that is none.
func (p *plan) runKrusty(dir string, config *types.PluginConfig) (m resmap.ResMap, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &panicError{fmt.Sprint(r)}
		}
	}()
	if !p.options.LoadAnywhere {
		p.overlay.roots = make(map[string]bool, len(p.layers))
		for dir := range p.layers {
			p.overlay.roots[dir] = true
		}
	}
	return krusty.MakeKustomizer(p.krusty(config)).Run(p.overlay, dir)
}

// panicError is a panic of kustomize's: it stopped at something that it does not name.
type panicError struct{ msg string }

func (e *panicError) Error() string {
	return "kustomize stopped with an internal error (a panic), and does not say where: " + e.msg
}

func (p *plan) krusty(config *types.PluginConfig) *krusty.Options {
	o := krusty.MakeDefaultOptions()
	o.PluginConfig = config
	o.AddManagedbyLabel = p.options.ManagedBy
	if p.options.LoadAnywhere {
		o.LoadRestrictions = types.LoadRestrictionsNone
	}
	switch p.options.Reorder {
	case ReorderLegacy:
		o.Reorder = krusty.ReorderOptionLegacy
	case ReorderNone:
		o.Reorder = krusty.ReorderOptionNone
	case ReorderUnspecified:
		o.Reorder = krusty.ReorderOptionUnspecified
	}
	return o
}

func (p *plan) helm() types.HelmConfig {
	h := p.options.Helm
	if !h.Enabled {
		return types.HelmConfig{}
	}
	return types.HelmConfig{
		Enabled: true, Command: h.command(), ApiVersions: h.APIVersions, KubeVersion: h.KubeVersion, Debug: h.Debug,
	}
}

// why finds the error that a person can use: the first of a Step, or of the overlay, or
// else kustomize's own, without the names of things that exist only in here.
func (p *plan) why(ctx context.Context, b *bridge, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if b != nil {
		if first := b.err(); first != nil {
			return first
		}
	}
	if first := p.overlay.refused(); first != nil {
		return &BuildError{Where: p.whereOf(err), Msg: first.Error(), Err: first}
	}
	if errors.As(err, new(*panicError)) {
		if known := p.misrememberedFile(); known != nil {
			return known
		}
	}
	if bomb := p.bombFile(); bomb != nil {
		return bomb
	}
	msg, dir := p.unwrap(p.ownHelm(b, err.Error()))
	msg = plainIDs(regexp.MustCompile(goValue).ReplaceAllString(msg, ": "))
	if syntax := p.malformed(msg); syntax != nil {
		return syntax
	}
	if dir != "" && (b == nil || !strings.Contains(msg, b.home)) {
		return p.explain(msg, dir)
	}
	msg = p.asWritten(msg)
	failed := &BuildError{Where: p.whereOf(err), Msg: msg, Err: err}
	if b != nil {
		plugin := filepath.Join(b.home, stepPath())
		failed.step = strings.Contains(msg, plugin)
		failed.Msg = strings.TrimPrefix(strings.ReplaceAll(msg, plugin, "the function"), "plugin ")
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
