package image

import (
	"context"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/registry"
)

// Command is what runs in place of what an image says. Empty lists leave it to the image.
type Command struct {
	Program []string // instead of the image's entrypoint and its arguments
	Args    []string // instead of the image's arguments
}

// Program is what an image has to run, and where.
type Program struct {
	Root string   // the image's root file system, on this machine; not to be written to
	Path string   // in it
	Args []string // all but the program's name
	Dir  string   // in it
	Env  []string // the image's, KEY=VALUE

	Platform Platform // that the image is for
}

// Program unpacks an image into the cache, unless it is there, and finds its program.
//
// Errors: *Error, *LimitError, *UnfitError, *NotHereError, *ChangedError, *NotComparedError,
// *NoCacheError, *fnexec.ProgramError, *cachedir.ForeignError, those of registry.Artifact.Open,
// the context's, or what is wrong with the disk.
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
		argv = []string{""} // which cannot be found, and the error says why
	}
	p, err := img.lookup(argv[0])
	if err != nil {
		return Program{}, err
	}
	return Program{Root: img.root, Path: p.path, Args: argv[1:], Dir: img.config.WorkingDir, Env: img.environ(), Platform: img.config.Platform}, nil
}

// environ is the image's environment, with what every engine adds.
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
