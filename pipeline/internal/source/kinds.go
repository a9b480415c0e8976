package source

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// The type of a Kustomization. A Composition may contain one too.
const (
	KustomizeGroup          = "kustomize.config.k8s.io"
	KustomizationAPIVersion = types.KustomizationVersion
	KustomizationKind       = types.KustomizationKind
)

// The type of a Composition: KEP-2299, "API schema".
const (
	CompositionAPIVersion = "kustomize.config.k8s.io/v1alpha1"
	CompositionKind       = "Composition"
)

// CompositionIn returns the file of the Composition in a directory, "" for none.
func CompositionIn(fsys filesys.FileSystem, at Place) (string, error) {
	found := KindsIn(fsys, at.Dir)
	switch {
	case len(found.Kustomization) > 0 && len(found.Composition) > 0:
		return "", &SyntaxError{Where: at.Display, Msg: fmt.Sprintf(
			"both %s and %s are there: a directory is one or the other (KEP-2299)", found.Composition[0], found.Kustomization[0])}
	case len(found.Composition) > 1:
		return "", &SyntaxError{Where: at.Display, Msg: "more than one composition file: " + strings.Join(found.Composition, ", ")}
	case len(found.Composition) == 1:
		return found.Composition[0], nil
	}
	return "", nil
}

// CatalogsField is a field that kustomize does not get.
const CatalogsField = "catalogs"

// IsComposition reports whether a document is a Composition by its type; KEP-2299 omits the
// apiVersion.
func (d Document) IsComposition() bool {
	_, kind := d.Field("kind")
	_, version := d.Field("apiVersion")
	return kind != nil && kind.Value == CompositionKind && (version == nil || strings.HasPrefix(version.Value, KustomizeGroup+"/"))
}

// KustomizationNames are the file names of a kustomization.
func KustomizationNames() []string { return konfig.RecognizedKustomizationFileNames() }

// CompositionFile is the usual file name of a Composition.
const CompositionFile = "composition.yaml"

// CompositionNames are the file names of a Composition: KEP-2299, "Proposal", names the
// first.
func CompositionNames() []string { return []string{CompositionFile, "composition.yml"} }

// Kinds are the target files of a directory.
type Kinds struct{ Kustomization, Composition []string }

// KindsIn lists the target files of a directory.
func KindsIn(fsys filesys.FileSystem, dir string) Kinds {
	var k Kinds
	for _, name := range KustomizationNames() {
		if IsFile(fsys, filepath.Join(dir, name)) {
			k.Kustomization = append(k.Kustomization, name)
		}
	}
	for _, name := range CompositionNames() {
		if IsFile(fsys, filepath.Join(dir, name)) {
			k.Composition = append(k.Composition, name)
		}
	}
	return k
}
