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

// TestModulesThatAreLeftOut checks what a script reads that loads a module which kpt's function
// has, or one that nobody has.
func TestModulesThatAreLeftOut(t *testing.T) {
	t.Parallel()
	const image = "ghcr.io/kptdev/krm-functions-catalog/starlark"
	for module, wants := range map[string][]string{
		"http.star":          {"krmcat has no module http: it asks the network", image},
		"xlsx.star":          {"krmcat has no module xlsx: it fetches files from the network", image},
		"bsoup.star":         {"krmcat has no module bsoup", image},
		"html.star":          {"krmcat has no module html", image},
		"geo.star":           {"krmcat has no module geo", image},
		"zipfile.star":       {"krmcat has no module zipfile", image},
		"dataframe.star":     {"krmcat has no module dataframe, and neither has kpt's function"},
		"encoding/jsn.star":  {`no such module`, `did you mean "encoding/json.star"?`},
		"hashh.star":         {`did you mean "hash.star"?`},
		"encoding/toml.star": {"no such module", "Built in are encoding/base64.star"},
	} {
		_, err := load(t, "\nload(\""+module+"\", \"x\")\n")
		if err == nil {
			t.Errorf("%s is loaded", module)
			continue
		}
		for _, want := range append(wants, "functionConfig.star:2:6: load(\""+module+"\"): ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", module, err, want)
			}
		}
	}
	_, err := load(t, "\nload(\"re.star\", \"re\", \"regex\")\nx = 1")
	if want := `functionConfig.star:2:24: load("re.star"): the module has no regex, but re`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
	err = starlark.Check("main.star", map[string][]byte{
		"main.star": []byte("load(\"lib/helprs.star\", \"x\")"), "lib/helpers.star": []byte("x = 1"),
	})
	if want := `main.star:1:6: load("lib/helprs.star"): `; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `did you mean "lib/helpers.star"?`) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestKrmfn checks the module of kpt's function.
func TestKrmfn(t *testing.T) {
	t.Parallel()
	_, out, err := run(t, `
load("krmfn.star", "krmfn")
r = ctx.resource_list["items"][0]
print([krmfn.match_gvk(r, "apps/v1", "Deployment"), krmfn.match_gvk(r, "v1", "Deployment"), krmfn.match_gvk(r, "apps/v1", "ReplicaSet")])
print([krmfn.match_name(r, "web"), krmfn.match_name(r, "we"), krmfn.match_namespace(r, "prod"), krmfn.match_namespace(r, "")])
print([krmfn.match_name({}, ""), krmfn.match_name({"metadata": 1}, "a"), krmfn.match_namespace({"metadata": {}}, "")])
`, "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: prod\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "[True, False, False]\n[True, False, True, False]\n[True, False, True]\n"; out.Stderr != want {
		t.Errorf("got\n%s\nwant\n%s", out.Stderr, want)
	}
	for script, want := range map[string]string{
		`krmfn.match_name([], "a")`:               "krmfn.match_name: for parameter 1: got list, want dict",
		`krmfn.match_gvk({}, "v1")`:               "krmfn.match_gvk: got 2 arguments, want 3",
		`krmfn.match_namespace({}, name = "web")`: "unexpected keyword",
	} {
		if _, _, err := run(t, "load(\"krmfn.star\", \"krmfn\")\n"+script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", script, err, want)
		}
	}
}

// TestZones checks that no answer of the module time depends on the zone of this machine.
func TestZones(t *testing.T) {
	t.Parallel()
	_, out, err := run(t, `
load("time.star", "time")
at = time.from_timestamp(0)
print(at)
print(at.in_location("UTC"), getattr(at, "in_location")("UTC") == at)
print(time.is_valid_timezone("Local"), time.is_valid_timezone("UTC"))
`)
	if want := "1970-01-01 00:00:00 +0000 UTC\n1970-01-01 00:00:00 +0000 UTC True\nFalse True\n"; err != nil || out.Stderr != want {
		t.Errorf("got %q, %v", out.Stderr, err)
	}
	for _, use := range []string{
		`time.parse_time("2021-01-01", "2006-01-02", "Local")`, `time.parse_time("2021-01-01", format = "2006-01-02", location = "localtime")`,
		`time.time(year = 2021, location = "Local")`, `time.from_timestamp(0).in_location("Local")`, `getattr(time.from_timestamp(0), "in_location")("Local")`,
	} {
		if _, _, err := run(t, "load(\"time.star\", \"time\")\n"+use); err == nil || !strings.Contains(err.Error(), `unknown time zone "Local`) && !strings.Contains(err.Error(), `unknown time zone "localtime`) {
			t.Errorf("%s: got %v", use, err)
		}
	}
}

// TestNoSchema checks what a script reads that asks for a schema.
func TestNoSchema(t *testing.T) {
	t.Parallel()
	_, _, err := run(t, `ctx.open_api["definitions"]`)
	if err == nil || !strings.Contains(err.Error(), "krmcat gives scripts no schema") {
		t.Errorf("got %v", err)
	}
}
