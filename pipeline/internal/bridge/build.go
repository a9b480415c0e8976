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

// Build is a tree that kustomize is to build.
type Build struct {
	Tree *Tree
	Dir  string // where the build begins
	// Options are kustomize's, but for the plugins, which are set here.
	Options krusty.Options
	Schema  bool // a kustomization of the tree changes kyaml's schema

	// Executable is krmcat itself, which kustomize starts for helm. TempDir is for the socket by
	// which that calls back; the system's where empty.
	Executable, TempDir string

	Serve Serve // answers the runs of Steps of the tree; nil where there are none

	Helm     types.HelmConfig // Enabled where helm runs
	HelmPath string           // the program that helm is, absolute; "" leaves looking for it to kustomize
}

// Failure says that kustomize did not build a tree.
type Failure struct {
	Err      error // kustomize's own words, which may name a place of this package's
	Step     error // the first error of Serve: kustomize shows only that there was one
	Refused  error // the first refusal of the Tree: kustomize swallows some
	Panicked bool  // it stopped at something that it does not name
	Returned error // why kustomize cannot take what a Step returned

	helm [2]string // what helm is in Err, and what it is called
}

// Error is the text of kustomize.
func (e *Failure) Error() string { return e.Err.Error() }

// Unwrap returns kustomize's own error.
func (e *Failure) Unwrap() error { return e.Err }

// Msg is what kustomize said, with helm named as the user does.
func (e *Failure) Msg() string {
	if e.helm[0] == "" {
		return e.Error()
	}
	return strings.ReplaceAll(e.Error(), e.helm[0], e.helm[1])
}

// built is what krusty made of a tree.
type built struct {
	m   resmap.ResMap
	err error
}

// Run runs krusty on the tree. Only one runs at a time: kyaml's schema and the environment belong
// to the whole process. The error is a *Failure, the context's, or one of making room on the disk.
//
// Krusty takes no context. When ctx ends it is left behind, in a while, with what it has
// locked, and nothing is served any more: it may be busy for minutes, and who has to wait for
// it is mostly the end of the process.
func (o Build) Run(ctx context.Context) (resmap.ResMap, error) {
	var b *bridge
	if o.endsHelm() {
		var err error
		if b, err = openBridge(ctx, o); err != nil {
			return nil, err
		}
		defer b.close()
		go b.listen(ctx)
	}
	done := make(chan built, 1)
	go func() {
		var m resmap.ResMap
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

// bridged runs krusty with the bridge open, where there is one.
func (o Build) bridged(ctx context.Context, b *bridge) (resmap.ResMap, error) {
	config := types.DisabledPluginConfig() // kustomize starts nothing for functions
	config.HelmConfig = o.Helm
	if o.endsHelm() {
		config.HelmConfig.Command = b.helmPath()
	}
	o.Options.PluginConfig = config
	unlock, err := lockDown(o.Helm.Enabled)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s := steps{ctx: ctx, serve: o.Serve}
	if o.Serve != nil {
		defer s.install()()
	}
	m, panicked, err := o.krusty()
	refused := o.Tree.refused()
	switch {
	case err == nil && refused == nil:
		return m, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
		err = refused
	}
	failed := &Failure{Err: err, Refused: refused, Panicked: panicked, Step: s.failed, Returned: s.returned}
	if o.endsHelm() {
		failed.helm = [2]string{b.helmPath(), o.Helm.Command}
	}
	return nil, failed
}

// krusty turns a panic into an error: kustomize and kyaml panic on some input, such as
// a schema that is none.
func (o Build) krusty() (m resmap.ResMap, panicked bool, err error) {
	defer func() {
		if r := recover(); r != nil {
			panicked, err = true, fmt.Errorf("kustomize stopped with an internal error (a panic), and does not say where: %v", r)
		}
	}()
	m, err = krusty.MakeKustomizer(&o.Options).Run(o.Tree, o.Dir)
	return m, false, err
}
