package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
)

// renderCall has the values of the flags of render, mostly as options of the libraries.
type renderCall struct {
	render.Options
	registry   registry.Options
	trust      trustCall
	trusted    cli.StringSlice
	env        cli.StringSlice
	mounts     cli.StringSlice
	apis       cli.StringSlice
	restrictor string
	reorder    string
	output     outputCall
	results    resultsCall
	failOn     string
	plan       bool
	sandbox    sandboxCall
	kpt        kptCall
}

func (e *env) renderCommand() *cli.Command {
	r := &renderCall{}
	return &cli.Command{
		Name: "render", Aliases: []string{"build"}, Args: true, ArgsUsage: "[DIR | -]",
		Usage: "build a Kustomization, Component, Composition or kpt package with its functions",
		Description: `Reads the target in DIR (default: .), finds its functions in the catalogs that it declares and the
user trusts, runs them and prints the resources. Everything is checked before anything runs. If the
render fails, nothing is written but --results-dir.

A directory with a Kptfile is a kpt package. --in-place writes into its files what its functions
changed, all files or none, and the status of the render into its Kptfile, also if it fails. A
package that is a Kustomization too is built as one, unless DIR/Kptfile is named or --in-place is
given.

With - it reads a ResourceList or resources from stdin, runs the functions that they declare by the
annotation config.kubernetes.io/function, and prints the resources.

Functions run in a sandbox: without the network, without files other than the programs of this
machine or of their image, and without the secrets of the user. Programs of this machine are
confined on Linux only. -v shows what runs the functions, --plan shows what each may access.`,
		Flags: slices.Concat(
			r.outputFlags(), grouped(groupTrust, r.trustedFlag()), r.trust.flags(), r.permissionFlags(),
			executionFlags(&r.sandbox, r), r.kpt.flags(), r.kustomizeFlags(), connectionFlags(&r.registry),
		),
		Before: func(c *cli.Context) error { // even if the flags are wrong
			if r.plan {
				return nil
			}
			return e.startResults(c, &r.results)
		},
		Action: func(c *cli.Context) error { return e.render(c, r) },
	}
}

func (e *env) render(c *cli.Context, r *renderCall) error {
	isKpt, err := e.renderTarget(c, r)
	if err != nil {
		return err
	}
	if err := r.form(c, isKpt); err != nil {
		return err
	}
	if err := e.renderOptions(c, r); err != nil {
		return err
	}
	r.Target.Layout = isDir(r.output.place)
	if isKpt {
		return e.renderKpt(c, r)
	}
	renderer, err := e.prepared(r)
	if err != nil {
		return err
	}
	if r.plan {
		plan, err := renderer.Plan(c.Context, r.Options)
		e.shown.Done()
		if plan == nil {
			return err
		}
		return errors.Join(err, e.show(c, &r.output, planView{plan})) // it lists what may not run
	}
	return e.build(c, renderer, r, func(out render.Output) error {
		if r.Load != nil {
			out = forCluster(out)
		}
		return e.writeOutput(c, &r.output, out)
	})
}

// prepared returns the renderer of a command, which shows what it does.
func (e *env) prepared(r *renderCall) (*render.Renderer, error) {
	progress := e.shown
	e.say = func(text string) { progress.Say("ready: " + text) }
	e.caution = progress.Warn
	return e.renderer(r.registry, notify(progress))
}

// form sets the format of the output, which is checked already.
func (r *renderCall) form(c *cli.Context, isKpt bool) error {
	o := &r.output
	if r.plan {
		o.format = cmp.Or(o.format, ui.Data()[0])
		if isDir(o.place) {
			return usage(c, "--output: a plan is one file, and %s is a directory", o.place)
		}
		return nil
	}
	o.format = cmp.Or(o.format, ui.Resources()[0])
	if isDir(o.place) && !isKpt && o.format != ui.Resources()[0] {
		return usage(c, "--format %s: the files in a directory are YAML, and %s is a directory", o.format, o.place)
	}
	return nil
}

// build renders, and writes the results always, and the resources only without an error.
func (e *env) build(c *cli.Context, renderer *render.Renderer, r *renderCall, write func(render.Output) error) error {
	out, err := renderer.Render(c.Context, r.Options)
	done := calls{r.Dir, out.Records, err}
	werr := e.endResults(&r.results, done)
	switch {
	case err != nil && werr != nil:
		e.warn(werr.Error())
		return err
	case err != nil || werr != nil:
		return cmp.Or(err, werr)
	}
	if done.err = write(out); done.err != nil {
		return errors.Join(done.err, e.saveResults(&r.results, done))
	}
	return nil
}

func notify(p *ui.Progress) func(render.Event) {
	return func(ev render.Event) {
		text := ev.Text
		if ev.Where != "" {
			text = ev.Where + ": " + text
		}
		switch {
		case ev.Audit:
			p.Audit(text)
			return
		case ev.Warning:
			p.Warn(text)
			return
		}
		p.Say(fmt.Sprintf("%s: %s", ev.Phase, text))
	}
}

// notThereError reports that a file or directory that the user named cannot be used.
type notThereError struct {
	path string
	err  error // from package os
}

func (e *notThereError) Error() string {
	if os.IsNotExist(e.err) {
		return e.path + ": no such file or directory"
	}
	return e.path + ": " + pathless(e.err)
}

// Unwrap returns the cause.
func (e *notThereError) Unwrap() error { return e.err }

// defaultTimeout is shown in the help.
const defaultTimeout = 5 * time.Minute
