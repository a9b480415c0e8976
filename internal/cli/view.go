package cli

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/fnexec"
)

// catalogName is the command that shows a catalog.
const catalogName = "catalog"

func (e *env) viewCommand() *cli.Command {
	return &cli.Command{
		Name: "view", Usage: "show a catalog, a function of it, or a Composition",
		Description: "Nothing runs, and what is shown need not be trusted.",
		Subcommands: []*cli.Command{e.viewCatalogCommand(), e.viewFunctionCommand(), e.viewCompositionCommand()},
		Action:      func(c *cli.Context) error { return e.noCommand(c) },
	}
}

// runtimeView is a runtime of a function, as its catalog has it.
type runtimeView struct {
	Kind       string         `json:"kind"`
	References []referenceRow `json:"references,omitempty"`
	Network    bool           `json:"network"`
	Storage    bool           `json:"storage"`
	Pinned     bool           `json:"pinned"`
}

// referenceRow is a program of a runtime.
type referenceRow struct {
	Ref      string `json:"ref,omitempty"`
	Platform string `json:"platform,omitempty"` // os/arch
	Bin      string `json:"bin,omitempty"`      // the file in an archive
	SHA256   string `json:"sha256,omitempty"`
	Pinned   bool   `json:"pinned"`
}

// viewRuntime reads the fields that all runtimes have, so that a catalog with a runtime that krmcat
// does not know can be shown too.
func viewRuntime(kind string, spec fnexec.Spec) runtimeView {
	v := runtimeView{Kind: kind}
	v.Network, v.Storage = needs(spec)
	for _, entry := range entries(spec) {
		network, storage := needs(entry)
		v.Network, v.Storage = v.Network || network, v.Storage || storage
		v.References = append(v.References, rowOf(entry))
	}
	v.Pinned = len(v.References) > 0 && !slices.ContainsFunc(v.References, func(r referenceRow) bool { return !r.Pinned })
	return v
}

// entries returns the programs in a spec: one for each platform, or the spec itself.
func entries(spec fnexec.Spec) []fnexec.Spec {
	if spec.IsList() {
		return spec.Each()
	}
	if spec.IsMapping() && spec.Get("platforms").IsList() {
		return spec.Get("platforms").Each()
	}
	return []fnexec.Spec{spec}
}

// needs returns the permissions that a spec requests. KEP-2906 has two spellings for storage.
func needs(spec fnexec.Spec) (network, storage bool) {
	if !spec.IsMapping() {
		return false, false
	}
	yes := func(name string) bool { return strings.EqualFold(scalar(spec, name), "true") }
	return yes("requireNetwork"), yes("requireStorageMount") || yes("requireFilesystem")
}

func rowOf(entry fnexec.Spec) referenceRow {
	if !entry.IsMapping() {
		ref := ""
		if entry.IsText() {
			ref = entry.Node().Value
		}
		return referenceRow{Ref: ref, Pinned: strings.Contains(ref, "@sha256:")}
	}
	r := referenceRow{SHA256: scalar(entry, "sha256"), Bin: scalar(entry, "bin")}
	for _, name := range []string{"uri", "oci", "url", "image", "path"} {
		if r.Ref = scalar(entry, name); r.Ref != "" {
			break
		}
	}
	if r.Ref == "" && scalar(entry, "source") != "" {
		r.Ref = "(written in the catalog)"
		r.Pinned = true // by the catalog's own digest
	}
	if system, arch := scalar(entry, "os"), scalar(entry, "arch"); system != "" || arch != "" {
		r.Platform = system + "/" + arch
	}
	r.Pinned = r.Pinned || r.SHA256 != "" || strings.Contains(r.Ref, "@sha256:")
	return r
}

func scalar(s fnexec.Spec, name string) string {
	f := s.Get(name)
	if !f.IsText() {
		return ""
	}
	return f.Node().Value
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
