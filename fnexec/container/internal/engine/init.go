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

// Functions run below an init program of the engine (--init). A function that was PID 1 would
// ignore signals that it sends itself, and seem to succeed. An engine without such a program
// fails.

// podmanInits returns the directories in which podman looks for catatonit.
func podmanInits() []string {
	return []string{"/usr/local/libexec/podman", "/usr/local/lib/podman", "/usr/libexec/podman", "/usr/lib/podman"}
}

// initArgs returns the options for an init program. docker's daemon finds its own. podman and
// nerdctl may be given one of this machine, unless podman's containers run on another machine.
// It must be statically linked, since images may have no libraries.
func (e *Engine) initArgs(environ []string, said string) []string {
	if runtime.GOOS != "linux" || e.name == Docker {
		return []string{"--init"}
	}
	option, names := "--init-binary", []string{"tini-static", "docker-init", "tini", "catatonit"}
	if e.name == Podman {
		option, names = "--init-path", []string{"catatonit", "tini-static", "docker-init", "tini"}
		if strings.HasSuffix(said, podmanRemote) || slices.ContainsFunc(podmanInits(), func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "catatonit")); return err == nil }) {
			return []string{"--init"} // the engine's default, or that of another machine
		}
	}
	for _, name := range names {
		if path, err := sandbox.FindProgram(name, environ); err == nil && static(path) {
			return []string{"--init", option, path}
		}
	}
	return []string{"--init"} // the engine's default, or its error
}

// static reports whether a program needs no dynamic libraries.
func static(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return !slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}
