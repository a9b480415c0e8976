package rewrite

import (
	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/source"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// newTree is a disk as kustomize shall see it.
func newTree(fsys filesys.FileSystem) *bridge.Tree {
	t := bridge.NewTree(fsys)
	t.Check = source.BombIn
	return t
}
