package report

import (
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/yamldoc"
)

// The bounds of what is read to find lines. The names of the files are a function's.
const (
	maxFiles = 1000
	maxBytes = 16 << 20 // of all files together
)

// Lines finds the lines of results in the files of a directory. It is not for concurrent use.
type Lines struct {
	dir   string // absolute
	shown string // the directory as the user wrote it
	files map[string][]*yaml.Node
	left  int64
}

// NewLines returns the Lines of a directory. shown is its path as the user wrote it, by which the
// positions are written.
func NewLines(dir, shown string) *Lines {
	return &Lines{dir: dir, shown: shown, files: map[string][]*yaml.Node{}, left: maxBytes}
}

// Position is where a result belongs: a file, with slashes, and a line. They are "" and 0 if they
// are not known.
type Position struct {
	File string
	Line int
}

// Of returns the position of a result. A file that is not in the directory has no line, and its
// path is the one that the function wrote.
func (l *Lines) Of(r fnexec.Result) Position {
	if r.File == nil || r.File.Path == "" {
		return Position{}
	}
	if l == nil {
		return Position{File: r.File.Path}
	}
	docs := l.read(r.File.Path)
	if docs == nil {
		return Position{File: r.File.Path}
	}
	at := Position{File: filepath.ToSlash(filepath.Join(l.shown, filepath.FromSlash(r.File.Path)))}
	doc := document(docs, r)
	if doc == nil {
		return at
	}
	if at.Line = doc.Line; r.Field != nil {
		at.Line = fieldLine(doc, r.Field.Path)
	}
	return at
}

// read returns the documents of a file; nil if it cannot be read.
func (l *Lines) read(path string) []*yaml.Node {
	if docs, ok := l.files[path]; ok || len(l.files) >= maxFiles {
		return docs
	}
	l.files[path] = nil
	local := filepath.FromSlash(path)
	if !filepath.IsLocal(local) {
		return nil
	}
	f, err := ownfile.OpenBelow(l.dir, filepath.Join(l.dir, local))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // it was opened for reading only
	data, err := bounded.Read(f, l.left)
	if err != nil {
		return nil
	}
	l.left -= int64(len(data))
	var ps yamldoc.Problems
	docs := []*yaml.Node{} // not nil: the file is there, even if it has no lines
	for _, doc := range yamldoc.Documents(data, &ps) {
		docs = append(docs, doc.Content[0])
	}
	if ps.Len() > 0 {
		docs = docs[:0] // what was read may be wrong
	}
	l.files[path] = docs
	return docs
}

// document returns the document of a result: the one of the resource that it names, or else the one
// with its index. It is nil if neither is there.
func document(docs []*yaml.Node, r fnexec.Result) *yaml.Node {
	var at *yaml.Node
	if i := r.File.Index; i >= 0 && i < len(docs) {
		at = docs[i]
	}
	if r.ResourceRef == nil || at != nil && names(at, r.ResourceRef) {
		return at
	}
	for _, doc := range docs {
		if names(doc, r.ResourceRef) {
			return doc
		}
	}
	return nil
}

// names reports whether a reference may mean a resource.
func names(doc *yaml.Node, ref *fnexec.ResourceRef) bool {
	meta := yamldoc.Field(doc, "metadata")
	for _, c := range []struct {
		in          *yaml.Node
		field, want string
	}{
		{doc, "apiVersion", ref.APIVersion}, {doc, "kind", ref.Kind}, {meta, "name", ref.Name}, {meta, "namespace", ref.Namespace},
	} {
		if v := yamldoc.Field(c.in, c.field); c.want != "" && (v == nil || v.Value != c.want) {
			return false
		}
	}
	return true
}

// fieldLine returns the line of a field, or of the nearest one around it that is there.
func fieldLine(doc *yaml.Node, path string) int {
	line := doc.Line
	rest := strings.TrimPrefix(path, "$")
	for at := doc; at != nil && rest != ""; {
		var key *yaml.Node
		key, at, rest = step(at, strings.TrimPrefix(rest, "."))
		if key != nil {
			line = key.Line
		}
	}
	return line
}

// step follows the first part of a path. key is the node on whose line the part begins; nil if it
// is not there.
func step(at *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	switch {
	case at.Kind == yaml.SequenceNode:
		return entryStep(at, path)
	case at.Kind != yaml.MappingNode:
		return nil, nil, ""
	}
	// The names of annotations have dots, and most functions do not quote them: the longest name
	// that is there counts.
	for i := 0; i+1 < len(at.Content); i += 2 {
		k := at.Content[i]
		if after, ok := follows(path, k.Value); ok && (key == nil || len(k.Value) > len(key.Value)) {
			key, value, rest = k, at.Content[i+1], after
		}
	}
	return key, value, rest
}

// follows returns what is left of a path after a name, in one of the ways to write one.
func follows(path, name string) (rest string, ok bool) {
	for _, form := range []string{name, `["` + name + `"]`, "['" + name + "']", "[" + name + "]", `"` + name + `"`, strings.ReplaceAll(name, ".", `\.`)} {
		if after, found := strings.CutPrefix(path, form); found && (after == "" || after[0] == '.' || after[0] == '[') {
			return after, true
		}
	}
	return "", false
}

// entryStep follows an index of a list, as [1] or 1, or a field of an entry with its value, as
// [name=main].
func entryStep(list *yaml.Node, path string) (key, value *yaml.Node, rest string) {
	part := path
	if inside, found := strings.CutPrefix(path, "["); found {
		part, rest, _ = strings.Cut(inside, "]")
	} else if i := strings.IndexAny(path, ".["); i >= 0 {
		part, rest = path[:i], path[i:]
	}
	name, want, named := strings.Cut(part, "=")
	for i, entry := range list.Content {
		if named {
			if v := yamldoc.Field(entry, name); v == nil || v.Value != strings.Trim(want, `"'`) {
				continue
			}
		} else if part != itoa(i) {
			continue
		}
		return entry, entry, rest
	}
	return nil, nil, ""
}
