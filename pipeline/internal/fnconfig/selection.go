package fnconfig

import (
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline/internal/resource"
	"github.com/krmcat/krmcat/pipeline/internal/selector"
)

// Selection says which resources a Step gets. The others stay as they are, in their places. The
// zero value selects everything.
type Selection struct {
	// Dir selects the resources whose files are in or below a directory: a path with slashes,
	// relative to the target. "" is the target itself, and selects resources without a file too.
	Dir string
	// Relative means that the function reads and writes paths that are relative to Dir, as in a
	// package of kpt. Otherwise they are relative to the target, as in kustomize.
	Relative bool
	selector.Selection
	Flags selector.Selection // what flags of the command line select of it
}

// Selects reports whether the Step gets a resource.
func (s Selection) Selects(n *yaml.RNode) bool {
	return s.covers(resource.FileOf(n).Path) && s.Match(n) && s.Flags.Match(n)
}

// covers reports whether a file is in or below the directory.
func (s Selection) covers(file string) bool {
	if s.Dir == "" {
		return true
	}
	dir := path.Dir(path.Clean(file))
	return file != "" && (dir == s.Dir || strings.HasPrefix(dir, s.Dir+"/"))
}

// Seen returns the path of a file as the function reads it.
func (s Selection) Seen(file string) string {
	if s.Dir == "" || !s.Relative {
		return file
	}
	return strings.TrimPrefix(path.Clean(file), s.Dir+"/")
}

// Meant returns the path, relative to the target, of a file that the function writes.
func (s Selection) Meant(file string) string {
	if !s.Relative {
		return path.Clean(file)
	}
	return path.Join(s.Dir, file)
}
