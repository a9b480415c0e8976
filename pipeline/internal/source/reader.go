package source

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Reader reads the files of a target as its options permit.
type Reader struct {
	FS      filesys.FileSystem
	Options Options
}

// NewReader reads what fsys has.
func NewReader(fsys filesys.FileSystem, o Options) *Reader { return &Reader{FS: fsys, Options: o} }

// Resources reads a file as kustomize does: lists are taken apart, their items come last.
func (r *Reader) Resources(file, display string) ([]Document, error) {
	data, err := disk.Read(r.FS, file, disk.MaxData)
	if err != nil {
		return nil, &SyntaxError{Where: display, Msg: "cannot be read", Err: err}
	}
	queue, err := ParseDocuments(display, data)
	if err != nil {
		return nil, err
	}
	var docs []Document
	for len(queue) > 0 {
		d := queue[0]
		queue = queue[1:]
		items, isList, err := d.Items()
		if err != nil {
			return nil, err
		}
		if isList {
			queue = append(queue, items...)
			continue
		}
		if d.Node.Kind != yaml.MappingNode {
			return nil, d.Errorf(d.Node, "a resource is a mapping, this is %s", yamldoc.Describe(d.Node))
		}
		if err := d.WellFormed(); err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

// FirstDocument reads a file as kustomize reads a kustomization: the first document and no
// other, and of fields that are written twice the last.
func (r *Reader) FirstDocument(file string, data []byte) (Document, error) {
	ps, again := yamldoc.Problems{File: file}, yamldoc.Problems{File: file}
	n, more := yamldoc.First(data, &ps, &again)
	first := ps.First()
	switch {
	case first != nil:
		return Document{}, syntaxError(first)
	case n == nil && more:
		return Document{}, &SyntaxError{Where: file, Msg: "its first document is empty, and kustomize reads no other"}
	case n == nil:
		return Document{}, &SyntaxError{Where: file, Msg: "it is empty"}
	}
	r.warnOf(SyntaxErrors(&again), "%s: the last one holds, as in kustomize")
	if more {
		r.Warn(file, "more stands behind its first document: it is not read, as in kustomize")
	}
	return Document{File: file, Node: n}, nil
}

// Confine finds a file, and holds it to kustomize's load restriction: that it lies in or
// below the directory of the file that names it.
func (r *Reader) Confine(f FileRef) (string, error) {
	at := f.Place()
	switch {
	case !r.FS.Exists(at.Dir):
		return "", f.Missing()
	case r.FS.IsDir(at.Dir):
		return "", f.Errorf("%s is a directory, and a file is expected", f.Written)
	}
	dir, name, err := r.FS.CleanedAbs(at.Dir)
	if err != nil {
		return "", &SyntaxError{Where: f.Where, Msg: f.Written + " cannot be read", Err: err}
	}
	if real := dir.Join(name); r.Options.LoadAnywhere || disk.Within(f.At.Dir, real) {
		return real, nil
	}
	return "", Restricted(f.Where, f.Written, f.At.Display)
}

// Warn tells of something that is taken, and hardly meant.
func (r *Reader) Warn(where, msg string) {
	if r.Options.Warn != nil {
		r.Options.Warn(Warning{Where: where, Msg: msg})
	}
}

// maxFile is the largest kustomization, Composition or file of function configs that is read.
const maxFile = 16 << 20

// ReadConfigFile reads a file of the target's own. path is where it is, display what a
// person calls it.
func ReadConfigFile(fsys filesys.FileSystem, path, display string) ([]byte, error) {
	data, err := disk.Read(fsys, path, maxFile)
	if err != nil {
		return nil, &SyntaxError{Where: display, Msg: "cannot be read", Err: err}
	}
	return data, nil
}

// WarnOfStrangers tells of fields that kustomize passes over without a word.
func (r *Reader) WarnOfStrangers(d Document, t reflect.Type) {
	if t != reflect.TypeFor[struct{}]() { // a builtin of which nobody knows the fields
		r.WarnOf(d.Strangers(t, true))
	}
}

// WarnOf makes warnings of errors about fields.
func (r *Reader) WarnOf(err error) { r.warnOf(err, "kustomize passes over what stands here: %s") }

func (r *Reader) warnOf(err error, format string) {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range many.Unwrap() {
			r.warnOf(one, format)
		}
		return
	}
	if wrong, ok := err.(*SyntaxError); ok { //nolint:errorlint // it is given as it is
		r.Warn(wrong.Where, fmt.Sprintf(format, wrong.Msg))
	}
}

// LeaveOut keeps from an error what a flag would permit, where the target is only looked at.
func (r *Reader) LeaveOut(err error) error {
	if r.Options.Refused == nil || err == nil {
		return err
	}
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, one := range many.Unwrap() {
			rest = append(rest, r.LeaveOut(one))
		}
		return errors.Join(rest...)
	}
	var e *SyntaxError
	if !errors.As(err, &e) || e.Permit == "" {
		return err
	}
	r.Options.Refused(err)
	return nil
}
