package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/registry"
)

// functionView is what a catalog says about a function.
type functionView struct {
	Group    string        `json:"group"`
	Kind     string        `json:"kind"`
	Catalog  string        `json:"catalog"` // with its digest
	Versions []versionRows `json:"versions"`
}

// versionRows is one version of a function.
type versionRows struct {
	Name        string          `json:"name"` // by which runtime: {function: NAME} finds it
	Version     string          `json:"version"`
	Description string          `json:"description,omitempty"`
	Publisher   string          `json:"publisher,omitempty"`
	Home        string          `json:"home,omitempty"`
	Usage       string          `json:"usage,omitempty"`
	Examples    []string        `json:"examples,omitempty"`
	License     string          `json:"license,omitempty"`
	Maintainers []string        `json:"maintainers,omitempty"`
	Tags        []string        `json:"tags,omitempty"`
	Idempotent  *bool           `json:"idempotent,omitempty"` // nil if the catalog does not say
	Runtimes    []runtimeView   `json:"runtimes"`
	Replaces    []imageRow      `json:"replaces,omitempty"` // images that it replaces
	Schema      json.RawMessage `json:"schema,omitempty"`   // the OpenAPI v3 schema of the functionConfig

	schema string // the same as YAML
}

// imageRow is an image that a function replaces.
type imageRow struct {
	Image    string   `json:"image"`
	Versions string   `json:"versions,omitempty"` // a range
	Tags     []string `json:"tags,omitempty"`

	text string // all of it
}

// imageRows returns the images of functions, each once.
func imageRows(list ...catalog.Function) []imageRow {
	var rows []imageRow
	seen := map[string]bool{}
	for _, fn := range list {
		for _, r := range fn.Replaces {
			row := imageRow{Image: r.Image, Versions: r.Versions, Tags: r.Tags, text: oneLine(r.String())}
			if !seen[row.text] {
				seen[row.text] = true
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func (e *env) viewFunctionCommand() *cli.Command {
	var o registry.Options
	out := &outputCall{}
	var catalogs cli.StringSlice
	return &cli.Command{
		Name: "function", Args: true, ArgsUsage: "FUNCTION",
		Usage: "show everything that a catalog says of a function",
		Description: `Catalogs are searched in order, until one has the function. FUNCTION is GROUP/KIND, or a name that
"krmcat view catalog" lists. GROUP/KIND/VERSION shows one version. The core group is empty: /ConfigMap.`,
		Flags: slices.Concat(grouped(groupInput,
			&cli.StringSliceFlag{Name: "catalog", Usage: "search the catalog at `REF`", Destination: &catalogs},
		), out.flags(ui.Data()), connectionFlags(&o)),
		Action: func(c *cli.Context) error {
			v, err := e.findFunction(c, o, catalogs.Value())
			if err != nil {
				return err
			}
			return e.show(c, out, v)
		},
	}
}

func (e *env) findFunction(c *cli.Context, o registry.Options, refs []string) (functionView, error) {
	text, err := oneArg(c, "function")
	if err != nil {
		return functionView{}, err
	}
	if err := catalog.CheckNamed(text); err != nil {
		return functionView{}, usage(c, "%v", err)
	}
	if len(refs) == 0 {
		return functionView{}, usage(c, "%s needs --catalog REF", c.Command.HelpName)
	}
	var searched []catalog.Resolver
	for _, ref := range refs {
		from, err := place(c, ref)
		if err != nil {
			return functionView{}, err
		}
		f, err := e.catalog(c.Context, o, from)
		if err != nil {
			return functionView{}, err
		}
		v, err := newFunctionView(c.Context, f, text)
		if err != nil || len(v.Versions) > 0 {
			return v, err
		}
		searched = append(searched, f)
	}
	_, err = catalog.Chain(searched...).Resolve(c.Context, catalog.Query{Named: text}) // it names similar functions
	return functionView{}, err
}

// newFunctionView returns a view without versions if the catalog does not have the function. A name
// that functions of several kinds have is a *catalog.AmbiguousError.
func newFunctionView(ctx context.Context, f fetched, text string) (functionView, error) {
	v := functionView{Catalog: f.artifact.Pinned().String()}
	list, err := f.Named(text)
	if err != nil {
		return v, err
	}
	for i, fn := range list {
		if i == 0 {
			v.Group, v.Kind = fn.ID.Group, fn.ID.Kind
		}
		if fn.ID.Group != v.Group || fn.ID.Kind != v.Kind {
			_, err := f.Resolve(ctx, catalog.Query{Named: text})
			return v, err
		}
		row, err := newVersionRows(fn)
		if err != nil {
			return v, err
		}
		v.Versions = append(v.Versions, row)
	}
	return v, nil
}

func newVersionRows(fn catalog.Function) (versionRows, error) {
	row := versionRows{
		Name: fn.Called(), Version: fn.ID.Version, Description: fn.Description, Publisher: fn.Publisher, Home: fn.Home,
		Usage: fn.Usage, Examples: fn.Examples, License: fn.License, Maintainers: fn.Maintainers,
		Tags: fn.Tags, Idempotent: fn.Idempotent, Runtimes: []runtimeView{},
		Replaces: imageRows(fn),
	}
	for _, rt := range fn.Runtimes {
		row.Runtimes = append(row.Runtimes, viewRuntime(rt.Kind, fnexec.NewSpec(rt.Spec, rt.Kind)))
	}
	if yaml.IsMissingOrNull(fn.Schema) {
		return row, nil
	}
	var err error
	if row.Schema, err = fn.Schema.MarshalJSON(); err != nil {
		return row, err
	}
	row.schema, err = fn.Schema.String()
	return row, err
}

// Table implements ui.Tabler.
func (v functionView) Table() ui.Table {
	t := ui.Table{Facts: [][2]string{{"Function", v.Group + "/" + v.Kind}, {"Catalog", v.Catalog}}}
	for _, r := range v.Versions {
		idempotent := ""
		if r.Idempotent != nil {
			idempotent = yesNo(*r.Idempotent)
		}
		t.Facts = append(t.Facts, [2]string{},
			[2]string{"Name", oneLine(r.Name)}, [2]string{"Version", r.Version}, [2]string{"Description", r.Description}, [2]string{"Publisher", r.Publisher},
			[2]string{"Home", r.Home}, [2]string{"Usage", r.Usage}, [2]string{"Examples", strings.Join(r.Examples, "\n")},
			[2]string{"License", r.License}, [2]string{"Maintainers", strings.Join(r.Maintainers, "\n")},
			[2]string{"Tags", strings.Join(r.Tags, ", ")}, [2]string{"Idempotent", idempotent})
		for _, rt := range r.Runtimes {
			t.Facts = append(t.Facts, [2]string{"Runtime", rt.lines()})
		}
		var images []string
		for _, row := range r.Replaces {
			images = append(images, row.text)
		}
		t.Facts = append(t.Facts, [2]string{"Replaces", strings.Join(images, "\n")}, [2]string{"Schema", r.schema})
	}
	return t
}

func (r runtimeView) lines() string {
	head := r.Kind
	if r.Network {
		head += ", needs the network"
	}
	if r.Storage {
		head += ", needs storage"
	}
	lines := []string{head}
	for _, ref := range r.References {
		words := []string{ref.Platform, ref.Ref, ref.Bin}
		if ref.SHA256 != "" {
			words = append(words, "sha256 "+ref.SHA256)
		}
		if !ref.Pinned {
			words = append(words, "(not pinned)")
		}
		lines = append(lines, strings.Join(unique(words), " "))
	}
	return strings.Join(lines, "\n")
}
