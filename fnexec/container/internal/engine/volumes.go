package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/krmcat/krmcat/sandbox"
)

// volumes returns the directories of the volumes that an image declares. They must be hidden:
// docker and nerdctl would create a directory on this machine's disk for each, without a limit
// on its size. podman has an option against that.
func (e *Engine) volumes(image string, declared map[string]struct{}) ([]string, error) {
	if e.name == Podman {
		return nil, nil
	}
	var dirs []string
	for _, v := range slices.Sorted(maps.Keys(declared)) {
		dir := path.Clean(v)
		if !path.IsAbs(dir) || dir == "/" {
			return nil, &Error{Engine: e.name, Kind: Refused, Msg: fmt.Sprintf("the image declares the volume %.100q, which is not a directory in it", v)}
		}
		e.options.Notify(fmt.Sprintf("the image %s declares the volume %q: it is an empty directory", image, dir))
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// hideVolumes returns the options that mount an empty read-only directory over each volume that
// has no mount of its own.
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
