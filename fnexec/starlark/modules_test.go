package starlark_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// TestOtherLayers takes a script through publication: it is pushed to a layout with several
// files, pinned, resolved, verified, loaded and run.
func TestOtherLayers(t *testing.T) {
	t.Parallel()
	client, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	place := "oci-layout://" + filepath.ToSlash(filepath.Join(t.TempDir(), "fn")) + ":v1"
	l, err := reference.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Push(t.Context(), l, registry.Bundle{Role: mediatypes.RoleStarlark, Files: []registry.File{
		{Title: "main.star", Data: []byte("load(\"lib.star\", \"name\")\nload(\"again.star\", \"same\")\nctx.resource_list[\"items\"][0][\"v\"] = name() + same\n")},
		{Title: "lib.star", Data: []byte("load(\"hash.star\", \"hash\")\ndef name():\n    return ctx.resource_list[\"items\"][0][\"metadata\"][\"name\"]\n")},
		{Title: "again.star", Data: []byte("load(\"lib.star\", \"name\")\nsame = name()\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	spec := node(t, "'"+place+"'", false)
	site := fnexec.Site{Dir: t.TempDir()}
	if err := starlark.New().Pin(t.Context(), spec, site, client.Resolve); err != nil {
		t.Fatal(err)
	}
	p, err := starlark.New().Prepare(spec, site)
	if err != nil {
		t.Fatal(err)
	}
	if p.Needs.From.Digest == "" || p.Needs.Promised == "" {
		t.Fatalf("it is not pinned: %+v", p.Needs)
	}
	a, err := client.Resolve(t.Context(), p.Needs.From, p.Needs.Want)
	if err != nil {
		t.Fatal(err)
	}
	r, err := loadPrepared(t, p, a)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		out, err := fnexec.Call(t.Context(), r, fnexec.Input{Items: []*yaml.RNode{node(t, "kind: A\nmetadata: {name: x}\n", false)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := out.Items[0].Field("v").Value.YNode().Value; got != "xx" {
			t.Errorf("got %q", got)
		}
	}
}

func TestSiblings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside.star")
	for path, text := range map[string]string{
		filepath.Join(dir, "lib.star"): "x = 1\n",
		outside:                        "x = 2\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link.star")); err != nil {
		enginetest.Missing(t, "this system has no links: %v", err)
	}
	for _, c := range []struct {
		module, spec, want string
		inline             bool
	}{
		{"lib.star", "path: main.star", "", true},
		{"lib.star", "path: main.star", "no such module", false},
		{"link.star", "path: main.star", "leads out of it", true},
		{"../lib.star", "path: main.star", "no such module", true},
		{"missing.star", "path: main.star", "no such module", true},
		{".", "path: main.star", "no such module", true},
	} {
		p, err := starlark.New().Prepare(node(t, c.spec, false), fnexec.Site{Dir: dir, Inline: c.inline})
		if err != nil {
			t.Fatal(err)
		}
		main := registry.Literal(p.Needs.From, mediatypes.RoleStarlark, "main.star", []byte("load(\""+c.module+"\", \"x\")\n"))
		_, err = loadPrepared(t, p, main)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func TestLoadsItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.star"), []byte("load(\"a.star\", \"x\")\nx = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := starlark.New().Prepare(node(t, "path: main.star", false), fnexec.Site{Dir: dir, Inline: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := loadPrepared(t, p, registry.Literal(p.Needs.From, mediatypes.RoleStarlark, "main.star", []byte("load(\"a.star\", \"x\")\n")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fnexec.Call(t.Context(), r, fnexec.Input{}); err == nil || !strings.Contains(err.Error(), "loads itself") {
		t.Errorf("got %v", err)
	}
}
