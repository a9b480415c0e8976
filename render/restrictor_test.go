package render_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/sandbox"
)

const (
	scriptOf  = "for r in ctx.resource_list[\"items\"]:\n    r[\"data\"] = {\"by\": \"NAME\"}\n"
	programOf = "#!/bin/sh\nsed 's/^metadata:/data: {by: NAME}\\n&/; s/^  metadata:/  data: {by: NAME}\\n&/'\n"
)

// restrictedFiles is a target, and files outside it that its functions must not name.
func restrictedFiles(t *testing.T, runtime string) string {
	t.Helper()
	named := func(text, name string) string { return strings.ReplaceAll(text, "NAME", name) }
	dir := unpack(t, "-- app/kustomization.yaml --\nresources: [cm.yaml]\ntransformers: [fn.yaml]\n"+
		"-- app/cm.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n"+
		"-- app/fn.yaml --\n"+
		"-- app/sub/in.star --\n"+named(scriptOf, "inside")+"-- app/sub/in.sh --\n"+named(programOf, "inside")+
		"-- out/out.star --\n"+named(scriptOf, "outside")+"-- out/out.sh --\n"+named(programOf, "outside")+
		"-- app/link.star -> ../out/out.star --\n-- app/link.sh -> ../out/out.sh --\n-- app/way -> ../out --\n"+
		"-- app/chain.sh -> way/out.sh --\n-- app/inner.star -> sub/in.star --\n-- app/inner.sh -> sub/in.sh --\n-- app/round -> ../app/sub --\n")
	for _, program := range []string{"app/sub/in.sh", "out/out.sh"} {
		if err := os.Chmod(filepath.Join(dir, program), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runtime = strings.NewReplacer("DIR", dir, "SUM", hash(named(programOf, "outside"))).Replace(runtime)
	config := "apiVersion: example.com/v1\nkind: Fn\nmetadata: {name: f}\nruntime: {" + runtime + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "app/fn.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRestrictor checks that files that a functionConfig names must be in or below the directory
// that its paths are relative to, unless the user disables the restriction.
func TestRestrictor(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		"starlark: {path: sub/in.star}", "starlark: sub/in.star", "starlark: {path: ./sub/../sub/in.star}", "starlark: {path: 'DIR/app/sub/in.star'}",
		"starlark: {path: inner.star}", "starlark: {path: round/in.star}", "exec: {path: sub/in.sh}", "exec: {path: ./inner.sh}", "exec: {path: 'DIR/app/sub/in.sh'}",
	} {
		t.Run(in, func(t *testing.T) {
			t.Parallel()
			dir := restrictedFiles(t, in)
			if got, err := by(t, dir, false); err != nil || got != "inside" {
				t.Errorf("%q ran: %v", got, err)
			}
		})
	}
	for _, out := range []string{
		"starlark: {path: ../out/out.star}", "starlark: ../out/out.star", "starlark: {url: ../out/out.star}", "starlark: {uri: 'file://../out/out.star'}",
		"starlark: {path: 'DIR/out/out.star'}", "starlark: 'DIR/out/out.star'", "starlark: 'file://DIR/out/out.star'",
		"starlark: {path: link.star}", "starlark: {path: way/out.star}", "starlark: {path: sub/../../out/out.star}", "starlark: {path: way/../way/out.star}",
		"exec: {path: ../out/out.sh}", "exec: {path: 'DIR/out/out.sh'}", "exec: {path: ./link.sh}", "exec: {path: way/out.sh}", "exec: {path: ./chain.sh}",
		"exec: {path: ../out/out.sh, sha256: SUM}", "exec: {uri: ../out/out.sh, sha256: SUM}", "exec: [{path: ./link.sh, sha256: SUM}]",
		"exec: {platforms: [{bin: out.sh, path: 'DIR/out/out.sh', sha256: SUM}]}",
	} {
		t.Run(out, func(t *testing.T) {
			t.Parallel()
			dir := restrictedFiles(t, out)
			got, err := by(t, dir, false)
			var denied *sandbox.DeniedError
			if !errors.As(err, &denied) || !strings.Contains(denied.Refusals[0].Flag, "--load-restrictor ") {
				t.Errorf("%q ran: %v", got, err)
			}
			if got, err := by(t, dir, true); err != nil || got != "outside" {
				t.Errorf("with the flag, %q ran: %v", got, err)
			}
		})
	}
}

// TestRestrictorOfLayouts checks that layouts are restricted like files.
func TestRestrictorOfLayouts(t *testing.T) {
	t.Parallel()
	for name, inside := range map[string]bool{"lay:v1": true, "../lay:v1": false, "DIR/lay:v1": false, "link:v1": false, "DIR/app/lay:v1": true} {
		dir := restrictedFiles(t, "starlark: 'oci-layout://"+name+"'")
		client, err := registry.New(registry.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{"lay", "app/lay"} {
			to := reference.Locator{Scheme: reference.SchemeLayout, Name: filepath.Join(dir, at), Tag: "v1"}
			b := registry.Bundle{Role: "starlark", Files: []registry.File{{Title: "f.star", Data: []byte(strings.ReplaceAll(scriptOf, "NAME", "layout"))}}}
			if _, err := client.Push(t.Context(), to, b); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("../lay", filepath.Join(dir, "app/link")); err != nil {
			t.Fatal(err)
		}
		got, err := by(t, dir, false)
		if denied := errors.As(err, new(*sandbox.DeniedError)); denied == inside || inside && got != "layout" {
			t.Errorf("%s: %q ran: %v", name, got, err)
		}
	}
}

// TestRestrictorOfExchangedLinks checks that a file or directory that becomes a link after the
// check is not followed outside, neither when it is resolved nor when it is read.
func TestRestrictorOfExchangedLinks(t *testing.T) {
	t.Parallel()
	for _, runtime := range []string{"starlark: {path: sub/in.star}", "starlark: {path: inner.star}", "exec: {path: sub/in.sh, sha256: SUM}", "starlark: 'oci-layout://sub/lay:v1'"} {
		for _, when := range []string{"never", "resolved", "read"} {
			t.Run(runtime+" "+when, func(t *testing.T) {
				t.Parallel()
				dir := restrictedFiles(t, strings.ReplaceAll(runtime, "SUM", hash(strings.ReplaceAll(programOf, "NAME", "inside"))))
				same := strings.ReplaceAll(scriptOf, "NAME", "inside")
				err := errors.Join(
					os.WriteFile(filepath.Join(dir, "out/in.star"), []byte(same), 0o600),
					os.WriteFile(filepath.Join(dir, "out/in.sh"), []byte(strings.ReplaceAll(programOf, "NAME", "inside")), 0o700))
				if err != nil {
					t.Fatal(err)
				}
				r := newRenderer(t)
				resolve := r.Resolve
				for _, at := range []string{"app/sub/lay", "out/lay"} {
					client, err := registry.New(registry.Options{})
					if err != nil {
						t.Fatal(err)
					}
					to := reference.Locator{Scheme: reference.SchemeLayout, Name: filepath.Join(dir, at), Tag: "v1"}
					if _, err := client.Push(t.Context(), to, registry.Bundle{Role: "starlark", Files: []registry.File{{Title: "f.star", Data: []byte(same)}}}); err != nil {
						t.Fatal(err)
					}
				}
				exchange := func() {
					if err := errors.Join(os.Rename(filepath.Join(dir, "app/sub"), filepath.Join(dir, "app/was")), os.Symlink("../out", filepath.Join(dir, "app/sub"))); err != nil {
						t.Error(err)
					}
				}
				r.Resolve = func(ctx context.Context, l reference.Locator, w registry.Want) (registry.Artifact, error) {
					if when == "resolved" {
						exchange()
					}
					a, err := resolve(ctx, l, w)
					if when == "read" {
						exchange()
					}
					return a, err
				}
				out, err := r.Render(t.Context(), optionsFor(t, filepath.Join(dir, "app")))
				if beyond := isBeyond(err); beyond == (when == "never") || (err == nil) == beyond {
					t.Errorf("%+v, %v", out, err)
				}
			})
		}
	}
}

func isBeyond(err error) bool { return errors.As(err, new(*ownfile.BeyondError)) }

// TestRestrictorStaysOutOfPATH checks that a bare name is a program in PATH, not a file of the
// target.
func TestRestrictorStaysOutOfPATH(t *testing.T) {
	t.Parallel()
	dir := restrictedFiles(t, "exec: {path: cat}")
	if got, err := by(t, dir, false); err != nil || got != "" {
		t.Errorf("%q ran: %v", got, err)
	}
}

// by renders, and says who wrote to the resource.
func by(t *testing.T, dir string, anywhere bool) (string, error) {
	t.Helper()
	o := optionsFor(t, filepath.Join(dir, "app"))
	o.Target.LoadAnywhere = anywhere
	out, err := newRenderer(t).Render(t.Context(), o)
	if err != nil {
		return "", err
	}
	text, err := render.YAML(out.Items)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"inside", "outside", "layout"} {
		if strings.Contains(string(text), "by: "+name) {
			return name, nil
		}
	}
	return "", nil
}

// asking counts how often the target of a link is resolved.
type asking struct {
	filesys.FileSystem
	file  string
	times atomic.Int32
}

// CleanedAbs implements filesys.FileSystem.
func (a *asking) CleanedAbs(path string) (filesys.ConfirmedDir, string, error) {
	if path == a.file {
		a.times.Add(1)
	}
	return a.FileSystem.CleanedAbs(path)
}

// TestAskedOnce checks that a render decides once whether a function may read a program, also if an
// override is merged by a schema.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	for name, program := range map[string]string{"may": "sub/in.sh", "may not": "../out/out.sh"} {
		for _, merged := range []bool{false, true} {
			dir := restrictedFiles(t, "exec: {path: "+program+"}")
			app := filepath.Join(dir, "app")
			if merged {
				config := "apiVersion: example.com/v1\nkind: Fn\nmetadata: {name: f}\nruntime: {exec: {path: " + program + "}}\nlist: [{name: a}]\n"
				over := "apiVersion: example.com/v1\nkind: Fn\nmetadata: {name: f}\nlist: [{name: b}]\n"
				head := "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Composition\n"
				list := func(text string) string { return "- " + strings.TrimSpace(indent(text)) + "\n" }
				for file, text := range map[string]string{
					"composition.yaml": head + "transformersFrom: [{path: base.yaml}]\ntransformerOverrides:\n" + list(over),
					"base.yaml":        head + "transformers:\n" + list(config),
				} {
					if err := os.MkdirAll(filepath.Dir(filepath.Join(app, file)), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(filepath.Join(app, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Remove(filepath.Join(app, "kustomization.yaml")); err != nil {
					t.Fatal(err)
				}
			}
			r, o := newRenderer(t), optionsFor(t, app)
			fs := &asking{FileSystem: r.FS, file: filepath.Join(app, program)}
			r.FS = fs
			_, err := r.Render(context.Background(), o)
			if (err == nil) != (name == "may") {
				t.Errorf("%s, merged %v: %v", name, merged, err)
			}
			if n := fs.times.Load(); n != 1 {
				t.Errorf("%s, merged %v: asked %d times", name, merged, n)
			}
		}
	}
}
