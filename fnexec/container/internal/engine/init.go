package engine

import (
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/sandbox"
)

// Functions are started below the engine's own first process (--init): as the first of its
// namespace a function would live through the signals that it sends itself, and pass. An
// engine that has no such program says so and starts nothing.

// podmanInits are the directories in which podman looks for catatonit by itself.
func podmanInits() []string {
	return []string{"/usr/local/libexec/podman", "/usr/local/lib/podman", "/usr/libexec/podman", "/usr/lib/podman"}
}

// initArgs are the options that have an engine put one in. docker's is its daemon's to find.
// podman and nerdctl take that of this machine and may be told which, unless podman said that
// its containers run on another: one that needs no
// libraries, as it is shown to images that have none.
func (e *Engine) initArgs(environ []string, said string) []string {
	if runtime.GOOS != "linux" || e.name == Docker {
		return []string{"--init"}
	}
	option, names := "--init-binary", []string{"tini-static", "docker-init", "tini", "catatonit"}
	if e.name == Podman {
		option, names = "--init-path", []string{"catatonit", "tini-static", "docker-init", "tini"}
		if strings.HasSuffix(said, podmanRemote) || slices.ContainsFunc(podmanInits(), func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "catatonit")); return err == nil }) {
			return []string{"--init"} // its own, or that of another machine
		}
	}
	for _, name := range names {
		if path, err := sandbox.FindProgram(name, environ); err == nil && static(path) {
			return []string{"--init", option, path}
		}
	}
	return []string{"--init"} // what its config names, or its error
}

// static reports whether a program runs without libraries.
func static(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
