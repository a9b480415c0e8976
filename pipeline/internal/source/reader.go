package source

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/disk"
)

// Reader reads the files of a target as its options permit.
type Reader struct {
	FS      filesys.FileSystem
	Options Options
}

// NewReader returns a Reader of the files in fsys.
func NewReader(fsys filesys.FileSystem, o Options) *Reader { return &Reader{FS: fsys, Options: o} }

// Resources reads a file of resources as kustomize does: lists are replaced by their items, which
// come last.
func (r *Reader) Resources(f FileRef) ([]Document, error) {
	docs, _, err := r.documents(f, disk.MaxData)
	if err != nil {
		return nil, err
	}
	if docs, err = Expand(docs); err != nil {
		return nil, err
	}
	for _, d := range docs {
		if d.Node.Kind != yaml.MappingNode {
			return nil, d.Errorf(d.Node, "a resource is a mapping, this is %s", yamldoc.Describe(d.Node))
		}
		if err := d.WellFormed(); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

// Documents reads the documents of a file of configs, and returns its directory.
func (r *Reader) Documents(f FileRef) ([]Document, Place, error) { return r.documents(f, maxFile) }

// documents reads a file that a path names, if the load restrictor permits it.
func (r *Reader) documents(f FileRef, limit int64) ([]Document, Place, error) {
	real, err := r.Confine(f)
	if err != nil {
		return nil, Place{}, err
	}
	display := f.Place().Display
	data, err := disk.Read(r.FS, real, limit)
	if err != nil {
		return nil, Place{}, &SyntaxError{Where: display, Msg: "cannot be read", Err: err}
	}
	docs, err := ParseDocuments(display, data)
	return docs, Place{Dir: filepath.Dir(real), Display: filepath.Dir(display)}, err
}

// TargetFile reads the kustomization or Composition of a directory. real is its path after links
// are resolved.
func (r *Reader) TargetFile(at Place, name string) (data []byte, real string, err error) {
	file := at.Join(name)
	dir, base, err := r.FS.CleanedAbs(file.Dir)
	if err != nil {
		return nil, "", &SyntaxError{Where: file.Display, Msg: "cannot be read", Err: err}
	}
	real = dir.Join(base)
	if !r.Options.LoadAnywhere && !disk.Within(at.Dir, real) {
		return nil, "", &SyntaxError{Where: file.Display, Msg: "it is a link that leads out of its directory, and the load restrictor keeps files there", Permit: anywhereFlag}
	}
	if data, err = disk.Read(r.FS, real, maxFile); err != nil {
		return nil, "", &SyntaxError{Where: file.Display, Msg: "cannot be read", Err: err}
	}
	return data, real, nil
}

// NotRemote refuses a path that kustomize reads as a remote one, unless there is a file of that
// name.
func (r *Reader) NotRemote(f FileRef, what string) error {
	if why := RemoteForm(f.Written); why != "" && !r.FS.Exists(f.Place().Dir) {
		return f.Errorf("%s: %s: %s", f.Written, what, why)
	}
	return nil
}

// FirstDocument reads a file as kustomize reads a kustomization: only the first document, and the
// last of fields that are written twice.
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
		r.Warn(file, "it has more after its first document: that is not read, as in kustomize")
	}
	return Document{File: file, Node: n}, nil
}

// Confine finds a file, and applies the load restrictor: the file must be in or below the directory
// of the file that names it.
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

// Warn reports something that is valid, but probably a mistake.
func (r *Reader) Warn(where, msg string) {
	if r.Options.Warn != nil {
		r.Options.Warn(Warning{Where: where, Msg: msg})
	}
}

// maxFile is the maximum size of a kustomization, Composition or file of function configs, in
// bytes.
const maxFile = 16 << 20

// WarnOfStrangers warns about fields that kustomize ignores without a message.
func (r *Reader) WarnOfStrangers(d Document, t reflect.Type) {
	if t != reflect.TypeFor[struct{}]() { // a builtin whose fields are not known
		r.WarnOf(d.Strangers(t, true))
	}
}

// WarnOf reports errors about fields as warnings.
func (r *Reader) WarnOf(err error) { r.warnOf(err, "kustomize ignores this: %s") }

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

// LeaveOut passes errors about what a flag would permit to Options.Refused, if that is set, and
// returns the other errors.
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
