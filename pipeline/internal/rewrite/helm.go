package rewrite

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/composition"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"github.com/krmcat/krmcat/pipeline/internal/fnconfig"
	"github.com/krmcat/krmcat/pipeline/internal/source"
)

// emitHelm adds a builtin that inflates a chart with helm to a Composition. helm itself reads the
// chart from the disk, relative to the file that declared the config. kustomize reads the values
// through the virtual tree. The values of a chart that helm has not yet pulled do not exist when
// this is planned.
func (p *plan) emitHelm(t *composition.Transformer, c fnconfig.Config, cs *components) error {
	if err := p.helmAt(c.Where(t.Document.Node), "the builtin "+fnconfig.HelmGenerator); err != nil {
		return err
	}
	if key, _ := c.Field("additionalValuesFiles"); key != nil {
		return c.Errorf(key, "additionalValuesFiles: helm would not find them; write them into valuesFile or valuesInline, "+
			"or accumulate a Kustomization with helmCharts")
	}
	v, err := c.Value()
	if err != nil {
		return err
	}
	vc := cs.forGenerator()
	home := source.FileRef{Written: types.HelmDefaultHome, At: t.At, Where: t.Position()}
	if name, ok := v["chartHome"].(string); ok {
		home = p.Refs[name]
	}
	if why := source.RemoteForm(home.Written); why != "" {
		return home.Errorf("%s: chartHome cannot be remote: %s", home.Written, why)
	}
	chart, _ := v["name"].(string)
	version, _ := v["version"].(string)
	if err := chartName(t.Position(), chart, version); err != nil {
		return err
	}
	dir := home.Place().Dir
	for _, at := range []string{dir, filepath.Join(dir, chart)} {
		if real, _, err := p.FS.CleanedAbs(at); err == nil {
			at = real.String() // at may be a symbolic link
		}
		if !p.Options.LoadAnywhere && !disk.Within(home.At.Dir, filepath.Join(at, "x")) {
			return source.Restricted(home.Where, home.Written, home.At.Display)
		}
	}
	v["chartHome"] = dir
	if name, ok := v["valuesFile"].(string); ok {
		if err := p.link(name, vc.root); err != nil {
			return err
		}
	} else {
		v["valuesFile"] = p.chartValues(t, v, dir, vc.root)
	}
	text, err := c.Print(v)
	cs.generate(vc, text)
	return err
}

// chartName refuses the name or the version of a chart if it would be more than one element of a
// path. kustomize uses both in paths: of the directory from which it reads the chart, of the one to
// which helm unpacks it, and of the file to which it writes the values.
func chartName(where, name, version string) error {
	for _, part := range []string{name, version} {
		if part == ".." || strings.ContainsAny(part, `/\`) {
			return &source.SyntaxError{Where: where, Msg: fmt.Sprintf("%q: the name and the version of a chart are no paths", part), Kind: failure.NotPermitted}
		}
	}
	return nil
}

// chartValues serves the values file of a chart, and returns the name under which it is served.
func (p *plan) chartValues(t *composition.Transformer, v map[string]any, home, root string) string {
	chart, _ := v["name"].(string)
	version, _ := v["version"].(string)
	if repo, _ := v["repo"].(string); repo != "" && version != "" {
		home = filepath.Join(home, chart+"-"+version) // helm unpacks the chart there
	}
	file := filepath.Join(home, chart, "values.yaml")
	name := p.Refer(source.FileRef{Written: file, At: t.At, Where: t.Position()})
	p.serveLink(name, root, bridge.Link{File: file, Within: t.At.Dir})
	return name
}

// helmAt records that a position runs helm, or refuses it if helm is not permitted. It needs a
// permission because helm is the only process that runs unconfined.
func (p *plan) helmAt(where, what string) error {
	if p.helm.never {
		return &source.SyntaxError{Where: where, Msg: what + ": helm does not run to make function configs"}
	}
	if !p.Options.Helm.Enabled {
		return p.LeaveOut(&source.SyntaxError{Where: where, Msg: what + ": helm runs only with " + source.HelmFlag, Permit: source.HelmFlag})
	}
	if !p.helm.runs {
		p.helm.runs, p.helm.where = true, where
	}
	p.notes = append(p.notes, "helm runs unconfined for "+where)
	return nil
}
