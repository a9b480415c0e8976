package target

import (
	"path/filepath"

	"sigs.k8s.io/kustomize/api/types"
)

// emitHelm lets helm inflate a chart for a Composition. helm reads the chart from the disk,
// by itself, where the config was declared; kustomize reads the values, through us. The
// values of a chart that helm has yet to pull are not there when this is planned.
func (p *plan) emitHelm(t *transformer, c functionConfig, s *sheet) error {
	if err := p.helmAt(c.where(t.document.node), "the builtin "+helmGenerator); err != nil {
		return err
	}
	if key, _ := c.field("additionalValuesFiles"); key != nil {
		return c.errorf(key, "additionalValuesFiles: helm would look for them where nothing is; write them into valuesFile or valuesInline, "+
			"or accumulate a Kustomization with helmCharts")
	}
	v, err := c.value()
	if err != nil {
		return err
	}
	part := s.early()
	home := fileRef{written: types.HelmDefaultHome, at: t.at, where: t.position()}
	if name, ok := v["chartHome"].(string); ok {
		home = p.refs[name]
	}
	if why := remoteForm(home.written); why != "" {
		return home.errorf("%s: chartHome cannot be remote: %s", home.written, why)
	}
	dir := home.place().dir
	if !p.options.LoadAnywhere && !within(home.at.dir, filepath.Join(dir, "x")) {
		return home.errorf("%s is not in or below %s, and the load restrictor keeps charts there", home.written, home.at.display)
	}
	v["chartHome"] = dir
	if name, ok := v["valuesFile"].(string); ok {
		if err := p.link(name, part.root); err != nil {
			return err
		}
	} else {
		v["valuesFile"] = p.chartValues(t, v, dir, part.root)
	}
	text, err := c.print(v)
	part.generators = append(part.generators, text)
	return err
}

// chartValues stands for the values that come with a chart.
func (p *plan) chartValues(t *transformer, v map[string]any, home, root string) string {
	chart, _ := v["name"].(string)
	version, _ := v["version"].(string)
	if repo, _ := v["repo"].(string); repo != "" && version != "" {
		home = filepath.Join(home, chart+"-"+version) // where kustomize has helm put it
	}
	file := filepath.Join(home, chart, "values.yaml")
	name := p.refer(fileRef{written: file, at: t.at, where: t.position()})
	p.serveLink(name, root, link{file, t.at.dir})
	return name
}
