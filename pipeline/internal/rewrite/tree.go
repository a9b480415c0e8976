package rewrite

import (
	"cmp"
	"fmt"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/provenance"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// kustomizeVersion is the kustomize CLI that is built on the api this module requires.
const kustomizeVersion = "v5.8.2"

// build returns the build of a directory for kustomize. Serve is not set.
func (p *plan) build(dir string) (bridge.Build, error) {
	if err := p.bounded(dir); err != nil {
		return bridge.Build{}, err
	}
	if !p.Options.LoadAnywhere {
		p.overlay.Roots = make(map[string]bool, len(p.kustomizations))
		for dir := range p.kustomizations {
			p.overlay.Roots[dir] = true
		}
	}
	b := p.bridge()
	b.Dir = dir
	return b, nil
}

// bridge returns the build of the tree without its directory.
func (p *plan) bridge() bridge.Build {
	b := bridge.Build{
		Tree: p.overlay, Options: *krusty.MakeDefaultOptions(), Schema: p.setsSchema(),
		Executable: p.Options.Executable, TempDir: p.Options.TempDir,
	}
	b.Options.AddManagedbyLabel = p.Options.ManagedBy
	if p.Options.LoadAnywhere {
		b.Options.LoadRestrictions = types.LoadRestrictionsNone
	}
	switch p.Options.Reorder {
	case source.ReorderLegacy:
		b.Options.Reorder = krusty.ReorderOptionLegacy
	case source.ReorderNone:
		b.Options.Reorder = krusty.ReorderOptionNone
	case source.ReorderUnspecified:
		b.Options.Reorder = krusty.ReorderOptionUnspecified
	}
	if h := p.Options.Helm; h.Enabled && p.helm.runs {
		b.HelmPath = h.Path
		b.Helm = types.HelmConfig{
			Enabled: true, Command: cmp.Or(h.Command, "helm"), ApiVersions: h.APIVersions, KubeVersion: h.KubeVersion, Debug: h.Debug,
		}
	}
	return b
}

// Usable checks that a build can create temporary files, and that helm is installed if the target
// needs it. The error is a *scratch.Error, or has the position that needs helm.
func (c *Compiled) Usable() error {
	p := c.plan
	err := p.bridge().Usable()
	if missing := p.Options.Helm.Missing; err == nil && p.helm.runs && missing != nil {
		return &source.SyntaxError{Where: p.helm.where, Msg: "helm is needed here", Err: missing, Kind: failure.NotFound}
	}
	return err
}

// setsSchema reports whether a kustomization of the tree changes kyaml's schema.
func (p *plan) setsSchema() bool {
	for _, k := range p.kustomizations {
		if len(k.kust.OpenAPI) > 0 {
			return true
		}
	}
	return false
}

func (p *plan) display() string {
	if p.root == nil {
		return ""
	}
	return p.root.Display
}

// Finish replaces in a resource what differs from the output of kustomize: the version in the label
// of managed-by, and the virtual names in the annotations of buildMetadata.
func (c *Compiled) Finish(n *yaml.RNode) error {
	if linked := "kustomize-" + provenance.GetProvenance().Semver(); n.GetLabels()[konfig.ManagedbyLabelKey] == linked {
		if err := n.PipeE(yaml.Lookup("metadata", "labels"),
			yaml.SetField(konfig.ManagedbyLabelKey, yaml.NewStringRNode("kustomize-"+kustomizeVersion))); err != nil {
			return fmt.Errorf("writing the label %s: %w", konfig.ManagedbyLabelKey, err)
		}
	}
	if !c.plan.metadata {
		return nil
	}
	return c.plan.restoreOrigins(n)
}

// newTree returns the disk as kustomize will see it.
func newTree(fsys filesys.FileSystem) *bridge.Tree {
	t := bridge.NewTree(fsys)
	t.Check = source.BombIn
	return t
}

// runs contains the Steps of a target, and the runs by which kustomize calls them.
type runs struct {
	steps []fnconfig.Step
	list  []*Run // by the number that kustomize uses
}

// Run is a group of Steps that kustomize sees as one plugin.
type Run struct {
	Steps []int // indexes of Compiled.Steps
	// As makes the Steps one pipeline that generates or validates. If empty, each has its own role.
	As fnconfig.Role
	// Read is set for a run without Steps, which records files.
	Read Read
}

// at returns the run with the number that kustomize uses for it, nil for none.
func (rs *runs) at(n bridge.Run) *Run {
	if n < 0 || int(n) >= len(rs.list) {
		return nil
	}
	return rs.list[n]
}

// step adds a Step to a run.
func (rs *runs) step(r *Run, s fnconfig.Step) {
	r.Steps = append(r.Steps, len(rs.steps))
	rs.steps = append(rs.steps, s)
}

// add adds a run, and returns the config for it.
func (rs *runs) add(r *Run) string {
	rs.list = append(rs.list, r)
	return bridge.StepConfig(bridge.Run(len(rs.list) - 1))
}
