package image

import (
	"context"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/registry"
)

// Command replaces what an image runs. Empty lists keep the image's own.
type Command struct {
	Program []string // replaces the image's entrypoint and arguments
	Args    []string // replaces the image's arguments
}

// Program says how to start the program of an unpacked image.
type Program struct {
	Root string   // directory with the image's root file system, which must not be written to
	Path string   // of the program, in the image
	Args []string // without the program's name
	Dir  string   // working directory, in the image
	Env  []string // of the image, KEY=VALUE

	Platform Platform // of the image
}

// Program unpacks an image into the cache, if it is not there, and finds its program.
//
// Errors: *Error, *LimitError, *UnfitError, *NotHereError, *ChangedError, *NotComparedError,
// *NoCacheError, *fnexec.ProgramError, *cachedir.ForeignError, those of registry.Artifact.Open, the
// context's, or one of the disk.
func (s *Store) Program(ctx context.Context, a registry.Artifact, c Command) (Program, error) {
	img, err := s.get(ctx, a)
	if err != nil {
		return Program{}, err
	}
	if err := img.workingDir(); err != nil {
		return Program{}, err
	}
	argv := img.config.argv(c)
	if len(argv) == 0 {
		argv = []string{""} // lookup fails with the reason
	}
	p, err := img.lookup(argv[0])
	if err != nil {
		return Program{}, err
	}
	return Program{Root: img.root, Path: p.path, Args: argv[1:], Dir: img.config.WorkingDir, Env: img.environ(), Platform: img.config.Platform}, nil
}

// environ returns the image's environment, with the variables that every container engine adds.
func (i image) environ() []string {
	env := slices.Clone(i.config.Env)
	for _, e := range []string{"PATH=" + defaultPath, "HOME=/"} {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(env, func(had string) bool { return strings.HasPrefix(had, name+"=") }) {
			env = append(env, e)
		}
	}
	return env
}
