package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/verify"
)

const configKind = "Config"

// userConfig is the user's config file: docs/formats.md.
type userConfig struct {
	path     string
	doc      *yaml.Node // the whole document, with comments; nil if there is no file
	node     *yaml.Node // its mapping
	catalogs []render.TrustedCatalog
	runtime  string // as --runtime
	confine  string // as --confine
	stage    string // one of stages()

	verifyCache bool   // as --verify-cache
	failOn      string // as --fail-on
}

// config reads the user's config file. A missing file is empty.
func (e *env) config() (*userConfig, error) {
	files, err := e.userFiles()
	if err != nil {
		return &userConfig{}, err
	}
	u := &userConfig{}
	var data []byte
	if data, u.path, err = e.read(files, configFile, verify.MaxPolicy); err != nil || data == nil {
		return u, err
	}
	node, err := yamldoc.One(data)
	switch {
	case err != nil:
		return u, yamldoc.In(u.path, failure.Usage, err)
	case node == nil:
		e.warn(u.path + " is empty: nothing in it is in force")
		return u, nil
	}
	u.node = node
	if err := u.decode(); err != nil {
		return u, err
	}
	// yamldoc has resolved aliases. Changes are made to the document as it is written.
	u.doc = &yaml.Node{}
	if err := yaml.Unmarshal(data, u.doc); err != nil || len(u.doc.Content) == 0 {
		return u, &yamldoc.Error{File: u.path, Msg: "it cannot be read", Kind: failure.Usage}
	}
	u.node = u.doc.Content[0]
	return u, nil
}

func (u *userConfig) decode() error {
	s := yamldoc.NewValue(yaml.NewRNode(u.node), "")
	s.Only("apiVersion", "kind", "metadata", "trustedCatalogs", "runtime", "confine", "stage", "failOn", verifyCacheField) // an empty list trusts nothing
	if v := s.Get("apiVersion"); v.Text() != verify.PolicyAPIVersion {
		v.Fail("it has to be %s, not %q", verify.PolicyAPIVersion, v.Text())
	}
	if k := s.Get("kind"); k.Text() != configKind {
		k.Fail("it has to be %s, not %q", configKind, k.Text())
	}
	for _, choice := range []struct {
		name string
		to   *string
		of   []string
		gone []string // valid, but not listed in messages
	}{{"runtime", &u.runtime, container.Runtimes(), goneRuntimes()}, {"confine", &u.confine, confines(), nil}, {"stage", &u.stage, stages(), nil}, {"failOn", &u.failOn, fnexec.FailOns(), nil}} {
		v := s.Get(choice.name)
		if *choice.to = v.Text(); *choice.to != "" && !slices.Contains(slices.Concat(choice.of, choice.gone), *choice.to) {
			v.Fail("it is one of %s, not %q", strings.Join(choice.of, ", "), *choice.to)
		}
	}
	u.verifyCache = s.Get(verifyCacheField).Bool()
	for _, entry := range s.Get("trustedCatalogs").Each() {
		p, err := reference.ParsePattern(entry.Text())
		if err != nil {
			entry.Fail("%v", err)
			break
		}
		if overHTTP(p.String()) && !strings.Contains(p.String(), "@sha256:") {
			entry.Fail("a catalog at an https URL is trusted by its checksum: add it with krmcat config trust %s", p)
			break
		}
		u.catalogs = append(u.catalogs, render.TrustedCatalog{Pattern: p, Where: fmt.Sprintf("%s:%d", u.path, entry.Line())})
	}
	if err := s.Err(); err != nil {
		return yamldoc.In(u.path, failure.Usage, err)
	}
	return nil
}

// list returns the list of trusted catalogs in the document. It adds a missing one.
func (u *userConfig) list() *yaml.Node {
	if u.node == nil {
		u.node = &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
		u.doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{u.node}}
		u.set("apiVersion", yamldoc.Text(verify.PolicyAPIVersion))
		u.set("kind", yamldoc.Text(configKind))
	}
	list := yamldoc.Field(u.node, "trustedCatalogs")
	if list == nil || yamldoc.IsNull(list) {
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq}
		u.set("trustedCatalogs", list)
	}
	return list
}

func (u *userConfig) set(name string, v *yaml.Node) {
	if i := yamldoc.FieldIndex(u.node, name); i >= 0 {
		u.node.Content[i+1] = v
		return
	}
	u.node.Content = append(u.node.Content, yamldoc.Text(name), v)
}

// trust adds a catalog. It replaces the entry for the same place, and returns it; "" for none.
func (u *userConfig) trust(ref string) string {
	list := u.list()
	for _, n := range list.Content {
		if n.Value == ref {
			return ref
		}
	}
	for _, n := range list.Content {
		if samePlace(n.Value, ref) {
			before := n.Value
			n.Value = ref
			return before
		}
	}
	list.Content = append(list.Content, yamldoc.Text(ref))
	return ""
}

// untrust removes a catalog, as it is written or with any digest. It returns the removed entries.
func (u *userConfig) untrust(ref string) []string {
	var gone []string
	if u.node == nil {
		return nil
	}
	list := u.list()
	list.Content = slices.DeleteFunc(list.Content, func(n *yaml.Node) bool {
		out := n.Value == ref || !strings.Contains(ref, "@sha256:") && samePlace(n.Value, ref)
		if out {
			gone = append(gone, n.Value)
		}
		return out
	})
	return gone
}

// samePlace reports whether two references are the same apart from their digests.
func samePlace(a, b string) bool {
	if unpinned(a) == unpinned(b) {
		return true
	}
	one, aerr := reference.Parse(unpinned(a))
	other, berr := reference.Parse(unpinned(b))
	return aerr == nil && berr == nil && !strings.Contains(a+b, "*") && one.Same(other)
}

// unpinned returns a reference without its digest.
func unpinned(ref string) string {
	place, _, _ := strings.Cut(ref, "@sha256:")
	return place
}

// edit changes the file under a lock.
func (e *env) edit(ctx context.Context, change func(*userConfig) error) error {
	files, err := e.userFiles()
	if err != nil {
		return err
	}
	path := under(files.dir, configFile)
	if path == "" {
		return errNoConfig
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &notThereError{path: filepath.Dir(path), err: err}
	}
	unlock, err := scratch.Lock(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("waiting for %s.lock: %w", path, err)
	}
	defer unlock()
	e.userDir = nil // it may have been created meanwhile
	u, err := e.config()
	if err != nil {
		return err
	}
	if n := borrowed(u.doc); n != nil {
		return &yamldoc.Error{File: u.path, Line: n.Line, Kind: failure.Usage, Msg: "it has an alias (*) or a merge key (<<): change it in an editor"}
	}
	return change(u)
}

// borrowed returns an alias or a merge key in a document, nil for none. A change could affect other
// nodes, or be lost.
func borrowed(n *yaml.Node) *yaml.Node {
	if n == nil || n.Kind == yaml.AliasNode || n.Tag == yaml.MergeTag {
		return n
	}
	for _, c := range n.Content {
		if found := borrowed(c); found != nil {
			return found
		}
	}
	return nil
}

// save writes the file by a rename, so that readers see either the old or the new content.
func (u *userConfig) save(e *env) error {
	defer e.Leave.Hold()()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(u.doc); err != nil {
		return fmt.Errorf("writing %s: %w", u.path, err)
	}
	// Others may not write to it, whatever the umask is: reading it would fail.
	if f, err := os.OpenFile(u.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		_ = f.Close()
	}
	return e.writeFile(u.path, b.Bytes())
}
