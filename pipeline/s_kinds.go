package pipeline

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The type of a Kustomization, which may stand in a Composition too.
const (
	kustomizeGroup          = "kustomize.config.k8s.io"
	kustomizationAPIVersion = types.KustomizationVersion
	kustomizationKind       = types.KustomizationKind
)

// The type of a Composition: KEP-2299, "API schema".
const (
	compositionAPIVersion = "kustomize.config.k8s.io/v1alpha1"
	compositionKind       = "Composition"
)

// compositionIn finds the file of the Composition in a directory, "" for none.
func compositionIn(fsys filesys.FileSystem, at place) (string, error) {
	found := kindsIn(fsys, at.dir)
	switch {
	case len(found.kustomization) > 0 && len(found.composition) > 0:
		return "", &SyntaxError{Where: at.display, Msg: fmt.Sprintf(
			"both %s and %s are there: a directory is one or the other (KEP-2299)", found.composition[0], found.kustomization[0])}
	case len(found.composition) > 1:
		return "", &SyntaxError{Where: at.display, Msg: "more than one composition file: " + strings.Join(found.composition, ", ")}
	case len(found.composition) == 1:
		return found.composition[0], nil
	}
	return "", nil
}

// catalogsField is ours: kustomize never sees it.
const catalogsField = "catalogs"

// isComposition tells a Composition by its type; KEP-2299 leaves the apiVersion out.
func (d document) isComposition() bool {
	_, kind := d.field("kind")
	_, version := d.field("apiVersion")
	return kind != nil && kind.Value == compositionKind && (version == nil || strings.HasPrefix(version.Value, kustomizeGroup+"/"))
}

func kustomizationNames() []string { return konfig.RecognizedKustomizationFileNames() }

const compositionFile = "composition.yaml"

// compositionNames are the file names of a Composition: KEP-2299, "Proposal", names the
// first.
func compositionNames() []string { return []string{compositionFile, "composition.yml"} }

type kinds struct{ kustomization, composition []string }

// kindsIn lists the target files of a directory.
func kindsIn(fsys filesys.FileSystem, dir string) kinds {
	var k kinds
	for _, name := range kustomizationNames() {
		if isFile(fsys, filepath.Join(dir, name)) {
			k.kustomization = append(k.kustomization, name)
		}
	}
	for _, name := range compositionNames() {
		if isFile(fsys, filepath.Join(dir, name)) {
			k.composition = append(k.composition, name)
		}
	}
	return k
}
