package cli

import (
	"runtime/debug"

	"github.com/urfave/cli/v2"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/fnexec/exec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/verify"
)

// runtimes lists the runtimes of functions in this binary.
func (e *env) runtimes() []fnexec.Runtime {
	return []fnexec.Runtime{
		exec.New(exec.Options{CacheDir: e.cacheDir(), Warn: e.caution}),
		starlark.New(),
		container.New(container.Options{
			CacheDir: e.cacheDir(), Host: e.host(), Runtime: e.runtime, AskedBy: e.asked, PullPolicy: e.pulls, VerifyCache: e.verifyCache, Environ: e.Environ, Notify: e.say, Warn: e.caution,
		}),
	}
}

// methods lists the methods of verification in this binary.
func (e *env) methods() []verify.Method { return []verify.Method{e.cosign} }

// client returns the client for registries. Further sources than those of package registry are
// listed here.
func (e *env) client(o registry.Options) (*registry.Client, error) {
	o.CacheDir = e.cacheDir()
	o.Watch = e.watch
	o.DockerConfigDir = e.dockerConfig()
	o.AuthFiles = e.authFiles()
	o.UserAgent = "krmcat/" + version(debug.ReadBuildInfo())
	c, err := registry.New(o)
	return c, mistake(err) // certificates are the only files that it reads
}

// renderer returns the renderer of targets.
func (e *env) renderer(o registry.Options, notify func(render.Event)) (*render.Renderer, error) {
	c, err := e.client(o)
	if err != nil {
		return nil, err
	}
	return &render.Renderer{
		Resolve: c.Resolve, Runtimes: e.runtimes(), FS: filesys.MakeFsOnDisk(), Methods: e.methods(), Notify: notify,
	}, nil
}

// insecureName is a flag that is never suggested for a misspelt one.
const insecureName = "insecure"

// connectionFlags returns the flags that bind to the options of connections to registries.
func connectionFlags(o *registry.Options) []cli.Flag {
	return grouped(groupRegistry,
		&cli.BoolFlag{Name: "plain-http", Usage: "use http for every registry; without it only for those on loopback", Destination: &o.PlainHTTP},
		&cli.StringFlag{Name: "ca-file", Usage: "trust the certificates in this PEM `FILE` too", Destination: &o.CAFile},
		&cli.BoolFlag{Name: insecureName, Usage: "accept any TLS certificate", Destination: &o.Insecure},
	)
}
