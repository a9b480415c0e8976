package cli

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/annotation"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/scratch"
)

// writeItems writes the resources to the place of -o, or into the files that they were read from.
func (e *env) writeItems(ctx context.Context, f *fnCall, in *fnInput, items []*yaml.RNode) error {
	switch f.to {
	case asList:
		return e.writeList(&fnexec.ResourceList{Items: items})
	case asDocuments:
		return e.writeDocuments(items)
	case "":
	default:
		return e.makeTree(ctx, f.to, items)
	}
	if len(items) == 0 && !in.none {
		return failure.Function.Mark(fmt.Errorf("the function returned no resources, which would remove every file of %s: -o %s shows what it returns", in.dir, asList))
	}
	change, err := in.tree.Change(items)
	if err != nil {
		return err
	}
	if f.dryRun {
		return e.write([]byte(change.Diff()))
	}
	defer e.Leave.Hold()() // all files are written, or none
	return change.Apply(ctx)
}

// writeList prints a ResourceList with the places of its resources, which other orchestrators read
// by the legacy names.
func (e *env) writeList(list *fnexec.ResourceList) error {
	for _, n := range list.Items {
		annotation.AddLegacy(n.YNode())
	}
	data, err := list.Encode()
	if err != nil {
		return err
	}
	return e.write(data)
}

// writeDocuments prints resources with their comments, and without their places.
func (e *env) writeDocuments(items []*yaml.RNode) error {
	fnexec.StripAnnotations(items)
	texts := make([][]byte, len(items))
	for i, n := range items {
		text, err := n.String()
		if err != nil {
			return fmt.Errorf("printing %s %s: %w", n.GetKind(), n.GetName(), err)
		}
		texts[i] = []byte(text)
	}
	return e.write(bytes.Join(texts, []byte("---\n")))
}

// makeTree makes a directory with the files of resources. It is there when it is complete, or not
// at all.
func (e *env) makeTree(ctx context.Context, dir string, items []*yaml.RNode) error {
	defer e.Leave.Hold()()
	above := filepath.Dir(filepath.Clean(dir))
	tmp := filepath.Join(above, scratch.TempPrefix+rand.Text())
	if err := os.Mkdir(tmp, 0o777); err != nil { // less the umask
		return &notThereError{path: above, err: err}
	}
	defer func() { _ = os.RemoveAll(tmp) }() // it is gone after a rename
	tree, err := files.Read(ctx, tmp, files.Options{Kptfiles: true})
	if err != nil {
		return err
	}
	change, err := tree.Change(items)
	if err == nil {
		err = change.Apply(ctx)
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); err == nil {
		return &notThereError{path: dir, err: errors.New("it was made meanwhile")}
	}
	if err := os.Rename(tmp, dir); err != nil {
		return &notThereError{path: dir, err: err}
	}
	return nil
}
