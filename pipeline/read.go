package pipeline

import (
	"errors"
	"io/fs"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/pipeline/internal/bridge"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
)

// maxFile is the largest kustomization, Composition or file of function configs that is read.
const maxFile = 16 << 20

// readConfigFile reads a file of the target's own. path is where it is, display what a
// person calls it.
func readConfigFile(fsys filesys.FileSystem, path, display string) ([]byte, error) {
	data, err := disk.Read(fsys, path, maxFile)
	if err != nil {
		return nil, &SyntaxError{Where: display, Msg: "cannot be read", Err: err, missing: errors.Is(err, fs.ErrNotExist)}
	}
	return data, nil
}

func kustomizationNames() []string { return konfig.RecognizedKustomizationFileNames() }

// newTree is a disk as kustomize shall see it.
func newTree(fsys filesys.FileSystem) *bridge.Tree {
	t := bridge.NewTree(fsys)
	t.Check = bombIn
	return t
}
