package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/files"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
)

// kptCall has the values of the flags that concern kpt packages.
type kptCall struct {
	inPlace     bool
	allowExec   bool
	network     bool
	noReplace   bool
	imagePrefix string
}

// The flags for kpt packages, and kpt's variable for the last one.
const (
	inPlaceName      = "in-place"
	allowExecName    = "allow-exec"
	allowNetworkName = "allow-network"
	imagePrefixName  = "image-prefix"
	noReplaceName    = "no-replace"
	prefixVariable   = "KPT_IMAGE_PREFIX"
)

func (k *kptCall) flags() []cli.Flag {
	return grouped(groupKpt,
		&cli.BoolFlag{Name: inPlaceName, Usage: "write into the files of a kpt package, and the status into its Kptfile, as kpt fn render does", Destination: &k.inPlace},
		&cli.BoolFlag{Name: allowExecName, Usage: "kpt's name for --enable-alpha-plugins and --enable-exec", Destination: &k.allowExec},
		&cli.BoolFlag{Name: allowNetworkName, Usage: "kpt's name for --network; the images of a kpt package request it then", Destination: &k.network},
		&cli.BoolFlag{Name: noReplaceName, Usage: "run the images of a kpt package, not the functions of trusted catalogs that replace them", Destination: &k.noReplace},
		&cli.StringFlag{Name: imagePrefixName, Usage: "put `PREFIX` before images of a kpt package that have no slash (default: $" + prefixVariable + ", or " + pipeline.KptImagePrefix + ")", Destination: &k.imagePrefix},
	)
}

// options sets what the flags permit, under kpt's names.
func (k *kptCall) options(o *render.Options) {
	o.EnableAlphaPlugins = o.EnableAlphaPlugins || k.allowExec
	o.EnableExec = o.EnableExec || k.allowExec
	o.Allow.Network = o.Allow.Network || k.network
	o.NoReplace = k.noReplace
}

// kptDir returns the directory of a kpt package if the target is one: its Kptfile is named, or
// nothing in the directory is a target of another kind, or --in-place says it. Otherwise it is "".
func (e *env) kptDir(c *cli.Context, r *renderCall, named string) (string, error) {
	dir, byName := named, filepath.Base(named) == pipeline.KptfileName && isFile(named)
	if byName {
		dir = filepath.Dir(named)
	}
	if !byName && !isFile(filepath.Join(dir, pipeline.KptfileName)) {
		if r.kpt.inPlace {
			return "", usage(c, "--%s writes into a kpt package, and %s has no %s", inPlaceName, dir, pipeline.KptfileName)
		}
		return "", nil
	}
	other := pipeline.TargetFile(dir)
	if other == "" || byName || r.kpt.inPlace {
		return dir, nil
	}
	e.warn(filepath.Join(dir, other) + " is rendered: to render the kpt package, name " + filepath.Join(dir, pipeline.KptfileName))
	return "", nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// renderKpt renders a kpt package in place, to stdout or to a new directory.
func (e *env) renderKpt(c *cli.Context, r *renderCall) error {
	if err := r.kptOutput(c); err != nil {
		return err
	}
	tree, err := e.readPackage(c.Context, r.Dir)
	if err != nil {
		return err
	}
	prefix := r.kpt.imagePrefix
	if !c.IsSet(imagePrefixName) {
		prefix = cmp.Or(e.getenv(prefixVariable), pipeline.KptImagePrefix)
	}
	k := pipeline.KptOptions{Dir: tree.Dir(), Display: filepath.Clean(r.Dir), ImagePrefix: prefix, Network: r.kpt.network}
	renderer, err := e.prepared(r)
	if err != nil {
		return err
	}
	if r.plan {
		plan, err := renderer.PlanKpt(c.Context, r.Options, tree, k)
		e.shown.Done()
		if plan == nil {
			return err
		}
		return errors.Join(err, e.show(c, &r.output, planView{plan}))
	}
	out, err := renderer.RenderKpt(c.Context, r.Options, tree, k)
	werr := e.endResults(&r.results, calls{r.Dir, out.Records, err})
	if r.kpt.inPlace && out.InPlace != nil {
		werr = errors.Join(werr, e.changeFiles(c.Context, tree, out))
	}
	if err == nil && werr == nil && !r.kpt.inPlace {
		werr = e.writeKpt(c, r, out)
	}
	if err != nil && werr != nil {
		e.warn(werr.Error())
	}
	return cmp.Or(err, werr)
}

// kptOutput checks where the resources of a kpt package go.
func (r *renderCall) kptOutput(c *cli.Context) error {
	switch {
	case r.plan:
		return nil
	case r.kpt.inPlace && (r.output.place != "" || c.IsSet(formatName)):
		return usage(c, "--%s writes into the files of the package: it does not go with --%s and --%s", inPlaceName, outputName, formatName)
	case r.output.place == "" || r.output.place == toStdout || r.output.place == asList || r.output.place == asDocuments:
		return nil
	case c.IsSet(formatName):
		return usage(c, "--%s %s: the files in a directory are as in the package", formatName, r.output.format)
	}
	return notYet(c, r.output.place)
}

// readPackage reads a kpt package and the packages below it.
func (e *env) readPackage(ctx context.Context, dir string) (*files.Tree, error) {
	tree, err := files.Read(ctx, dir, files.Options{Kptfiles: true, Packages: files.Kept})
	if err != nil {
		return nil, err
	}
	for _, text := range tree.Notes() {
		e.warn(text)
	}
	return tree, nil
}

// changeFiles writes what the files of a package become: all of them, or none and the status that
// says why.
func (e *env) changeFiles(ctx context.Context, tree *files.Tree, out render.KptOutput) error {
	defer e.Leave.Hold()()
	change, err := tree.Change(out.InPlace)
	if err == nil {
		return change.Apply(ctx)
	}
	if items := out.Unwritten(err); items != nil {
		if change, cerr := tree.Change(items); cerr == nil {
			err = errors.Join(err, change.Apply(ctx))
		}
	}
	return err
}

// writeKpt writes the resources of a kpt package to the place of -o, as kpt does.
func (e *env) writeKpt(c *cli.Context, r *renderCall, out render.KptOutput) error {
	form := cmp.Or(r.output.format, "yaml")
	switch {
	case r.output.place == asList:
		return e.writeList(&fnexec.ResourceList{Items: out.Items})
	case r.output.place != "" && r.output.place != toStdout && r.output.place != asDocuments:
		return e.makeTree(c.Context, r.output.place, out.Items)
	case form == "yaml":
		return e.writeDocuments(out.Items)
	}
	fnexec.StripAnnotations(out.Items)
	r.output.place = toStdout
	return e.show(c, &r.output, resourcesView{"v1", "List", out.Items})
}
