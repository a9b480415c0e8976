package cli

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
)

// versionView describes this program.
type versionView struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Go        string `json:"go"`
	Platform  string `json:"platform"` // os/arch
	Kustomize string `json:"kustomize"`
	API       string `json:"kustomizeAPI,omitempty"`
	Official  string `json:"officialCatalog,omitempty"` // compiled in
}

// likeness is the version of the kustomize CLI that renders are compared with.
const likeness = "v5.8.2"

func (e *env) versionCommand() *cli.Command {
	o := &outputCall{}
	return &cli.Command{
		Name: versionName, Usage: "show the version of krmcat, and of the kustomize that it builds like",
		Flags: o.flags(ui.Data()),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usage(c, "%s takes no arguments", c.Command.HelpName)
			}
			v := newVersion(debug.ReadBuildInfo())
			v.Official = e.Official
			return e.show(c, o, v)
		},
	}
}

func newVersion(info *debug.BuildInfo, ok bool) versionView {
	v := versionView{
		Version: version(info, ok), Go: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Kustomize: likeness,
	}
	if !ok {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	for _, dep := range info.Deps {
		if dep.Path == "sigs.k8s.io/kustomize/api" {
			v.API = dep.Version
		}
	}
	return v
}

// version returns the version of the build, "devel" for one from a checkout.
func version(info *debug.BuildInfo, ok bool) string {
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return strings.TrimSpace(info.Main.Version)
}

// Table implements ui.Tabler.
func (v versionView) Table() ui.Table {
	return ui.Table{Facts: [][2]string{
		{"krmcat", v.Version}, {"commit", v.Commit}, {"go", v.Go}, {"platform", v.Platform},
		{"builds like kustomize", v.Kustomize}, {"kustomize api", v.API}, {"official catalog", v.Official},
	}}
}
