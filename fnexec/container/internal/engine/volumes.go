package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/krmcat/krmcat/sandbox"
)

// volumes are the directories in the place of which something empty has to be put. For each
// volume that an image declares, docker and nerdctl make a directory on this machine's disk that
// the function may fill without bounds. podman is told not to.
func (e *Engine) volumes(image string, declared map[string]struct{}) ([]string, error) {
	if e.name == Podman {
		return nil, nil
	}
	var dirs []string
	for _, v := range slices.Sorted(maps.Keys(declared)) {
		dir := path.Clean(v)
		if !path.IsAbs(dir) || dir == "/" {
			return nil, &Error{Engine: e.name, Kind: Refused, Msg: fmt.Sprintf("the image declares %.100q to be a volume, which is no directory in it", v)}
		}
		e.options.Notify(fmt.Sprintf("the image %s declares the volume %q: it is an empty directory", image, dir))
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// hideVolumes gives the options that put an empty directory, which cannot be written to, in
// the place of each volume that nothing is mounted on.
func (e *Engine) hideVolumes(dirs []string, mounts []sandbox.Shown) ([]string, error) {
	var args []string
	for _, dir := range dirs {
		if dir == "/tmp" || slices.ContainsFunc(mounts, func(m sandbox.Shown) bool { return path.Clean(m.Dst) == dir }) {
			continue
		}
		option, err := e.mountOption([]string{"type=tmpfs", "target=" + dir, "readonly"})
		if err != nil {
			return nil, err
		}
		args = append(args, option...)
	}
	return args, nil
}
