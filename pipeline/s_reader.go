package pipeline

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// reader reads the files of a target as its options permit.
type reader struct {
	fsys    filesys.FileSystem
	options Options
}

// resources reads a file as kustomize does: lists are taken apart, their items come last.
func (r *reader) resources(file, display string) ([]document, error) {
	data, err := disk.Read(r.fsys, file, disk.MaxData)
	if err != nil {
		return nil, &SyntaxError{Where: display, Msg: "cannot be read", Err: err}
	}
	queue, err := parseDocuments(display, data)
	if err != nil {
		return nil, err
	}
	var docs []document
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		items, isList, err := d.items()
		if err != nil {
			return nil, err
		}
		if isList {
			queue = append(queue, items...)
			continue
		}
		if d.node.Kind != yaml.MappingNode {
			return nil, d.errorf(d.node, "a resource is a mapping, this is %s", describe(d.node))
		}
		if err := d.wellFormed(); err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// firstDocument reads a file as kustomize reads a kustomization: the first document and no
// other, and of fields that are written twice the last.
func (r *reader) firstDocument(file string, data []byte) (document, error) {
	var first *SyntaxError
	var again []yamldoc.Problem
	n, more := yamldoc.First(data, func(p yamldoc.Problem) {
		first = worse(first, file, p)
	}, func(p yamldoc.Problem) { again = append(again, p) })
	switch {
	case first != nil:
		return document{}, first
	case n == nil && more:
		return document{}, &SyntaxError{Where: file, Msg: "its first document is empty, and kustomize reads no other"}
	case n == nil:
		return document{}, &SyntaxError{Where: file, Msg: "it is empty"}
	}
	for _, one := range again {
		r.warn(fmt.Sprintf("%s:%d", file, one.Line), one.Msg+": the last one holds, as in kustomize")
	}
	if more {
		r.warn(file, "more stands behind its first document: it is not read, as in kustomize")
	}
	return document{file: file, node: n}, nil
}

// confine finds a file, and holds it to kustomize's load restriction: that it lies in or
// below the directory of the file that names it.
func (r *reader) confine(f fileRef) (string, error) {
	at := f.place()
	switch {
	case !r.fsys.Exists(at.dir):
		return "", f.missing()
	case r.fsys.IsDir(at.dir):
		return "", f.errorf("%s is a directory, and a file is expected", f.written)
	}
	dir, name, err := r.fsys.CleanedAbs(at.dir)
	if err != nil {
		return "", &SyntaxError{Where: f.where, Msg: f.written + " cannot be read", Err: err}
	}
	if real := dir.Join(name); r.options.LoadAnywhere || disk.Within(f.at.dir, real) {
		return real, nil
	}
	return "", restricted(f.where, f.written, f.at.display)
}

// warn tells of something that is taken, and hardly meant.
func (r *reader) warn(where, msg string) {
	if r.options.Warn != nil {
		r.options.Warn(Warning{Where: where, Msg: msg})
	}
}

// maxFile is the largest kustomization, Composition or file of function configs that is read.
const maxFile = 16 << 20

// readConfigFile reads a file of the target's own. path is where it is, display what a
// person calls it.
func readConfigFile(fsys filesys.FileSystem, path, display string) ([]byte, error) {
	data, err := disk.Read(fsys, path, maxFile)
	if err != nil {
		return nil, &SyntaxError{Where: display, Msg: "cannot be read", Err: err}
	}
	return data, nil
}

// warnOfStrangers tells of fields that kustomize passes over without a word.
func (r *reader) warnOfStrangers(d document, t reflect.Type) {
	if t != reflect.TypeFor[struct{}]() { // a builtin of which nobody knows the fields
		r.warnOf(d.strangers(t, true))
	}
}

// warnOf makes warnings of errors about fields.
func (r *reader) warnOf(err error) {
	if err == nil {
		return
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			r.warnOf(one)
		}
		return
	}
	if wrong, ok := err.(*SyntaxError); ok { //nolint:errorlint // strangers gives it as it is
		r.warn(wrong.Where, "kustomize passes over what stands here: "+wrong.Msg)
	}
}

// leaveOut keeps from an error what a flag would permit, where the target is only looked at.
func (r *reader) leaveOut(err error) error {
	if r.options.Refused == nil || err == nil {
		return err
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, one := range many.Unwrap() {
			rest = append(rest, r.leaveOut(one))
		}
		return errors.Join(rest...)
	}
	var e *SyntaxError
	if !errors.As(err, &e) || e.Permit == "" {
		return err
	}
	r.options.Refused(err)
	return nil
}
