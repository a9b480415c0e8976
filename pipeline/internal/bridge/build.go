package bridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmcat/krmcat/openapi"
)

// Build describes a build by kustomize: the tree and the options.
type Build struct {
	Tree *Tree
	Dir  string // the directory that is built
	// Options are those of kustomize. Run sets PluginConfig.
	Options krusty.Options
	Schema  bool // a kustomization of the tree changes kyaml's schema

	// Executable is krmcat itself, which kustomize starts in place of helm. TempDir is the
	// directory for the socket to which that process connects; empty means the system's.
	Executable, TempDir string

	Serve Serve // executes the runs of Steps of the tree; nil if there are none
	// Files returns the files of the resources that kustomize has read, for a run of FilesConfig.
	// It is set if Serve is.
	Files func(Run) (Files, error)

	Helm     types.HelmConfig // Enabled if helm runs
	HelmPath string           // the absolute path of helm; if empty, kustomize looks for it
}

// Failure says that kustomize did not build a tree.
type Failure struct {
	Err      error // kustomize's own error, which may name a path that this package created
	Step     error // the first error of Serve: kustomize reports only that there was one
	Refused  error // the first access that the Tree refused: kustomize discards some errors
	Panicked bool  // kustomize panicked; Err does not name the cause
	Returned error // why kustomize cannot use what a Step returned

	helm [2]string // the path of helm in Err, and the name that the user gave it
}

// Error returns the text of kustomize's error.
func (e *Failure) Error() string { return e.Err.Error() }

// Unwrap returns kustomize's own error.
func (e *Failure) Unwrap() error { return e.Err }

// Msg returns the text of kustomize's error, with helm under the name that the user gave it.
func (e *Failure) Msg() string {
	if e.helm[0] == "" {
		return e.Error()
	}
	return strings.ReplaceAll(e.Error(), e.helm[0], e.helm[1])
}

// Built is the result of a build.
type Built struct {
	Resources resmap.ResMap
	Files     Files // as far as they are recorded
}

// built is the result of krusty.
type built struct {
	Built
	err error
}

// Run runs krusty on the tree. Only one runs at a time: kyaml's schema and the environment belong
// to the whole process. The error is a *Failure, the cause of ctx, or an error of creating
// temporary files.
//
// Krusty takes no context. After ctx ends, Run waits a short time for krusty and then returns
// without it. Krusty keeps its locks, and no Step is served any more. Run does not wait for krusty
// to end: this can take minutes, and in most cases the process is about to exit.
func (o Build) Run(ctx context.Context) (Built, error) {
	var b *bridge
	if o.endsHelm() {
		var err error
		if b, err = openBridge(ctx, o); err != nil {
			return Built{}, err
		}
		defer b.close()
		go b.listen(ctx)
	}
	done := make(chan built, 1)
	go func() {
		var m Built
		err := openapi.Use(o.Schema, func() (err error) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			m, err = o.bridged(ctx, b)
			return err
		})
		done <- built{m, err}
	}()
	select {
	case out := <-done:
		return out.Built, out.err
	case <-ctx.Done():
	}
	late := time.NewTimer(leaveAfter)
	defer late.Stop()
	select {
	case <-done: // its temporary files are removed
	case <-late.C:
	}
	return Built{}, context.Cause(ctx)
}

// leaveAfter is how long Run waits for krusty after ctx has ended.
const leaveAfter = 300 * time.Millisecond

// bridged runs krusty. b is the open bridge, nil if krmcat does not start helm.
func (o Build) bridged(ctx context.Context, b *bridge) (Built, error) {
	config := types.DisabledPluginConfig() // kustomize starts no program for functions
	config.HelmConfig = o.Helm
	if o.endsHelm() {
		config.HelmConfig.Command = b.helmPath()
	}
	o.Options.PluginConfig = config
	unlock, err := lockDown(o.Helm.Enabled)
	if err != nil {
		return Built{}, err
	}
	defer unlock()
	s := steps{ctx: ctx, serve: o.Serve, files: o.Files, table: newFileTable()}
	if o.Serve != nil {
		defer s.install()()
	}
	m, panicked, err := o.krusty()
	refused := o.Tree.refused()
	switch {
	case err == nil && refused == nil:
		return Built{m, s.table.all(m)}, nil
	case ctx.Err() != nil:
		return Built{}, context.Cause(ctx)
	case err == nil:
		err = refused
	}
	failed := &Failure{Err: err, Refused: refused, Panicked: panicked, Step: s.failed, Returned: s.returned}
	if o.endsHelm() {
		failed.helm = [2]string{b.helmPath(), o.Helm.Command}
	}
	return Built{}, failed
}

// krusty runs krusty and turns a panic into an error: kustomize and kyaml panic on some input, such
// as an invalid schema.
func (o Build) krusty() (m resmap.ResMap, panicked bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			panicked, err = true, fmt.Errorf("kustomize stopped with an internal error (a panic), and does not say where: %v", r)
		}
	}()
	m, err = krusty.MakeKustomizer(&o.Options).Run(o.Tree, o.Dir)
	return m, false, err
}
