package pipeline

import (
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
)

// newTree is a disk as kustomize shall see it.
func newTree(fsys filesys.FileSystem) *bridge.Tree {
	t := bridge.NewTree(fsys)
	t.Check = bombIn
	return t
}
