package render_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/verify"
)

// replacingFiles has a catalog with a function that replaces an image.
const replacingFiles = `-- catalog.yaml --
apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
spec:
  krmFunctions:
  - name: set-namespace
    group: fn.kpt.dev
    kind: SetNamespace
    replaces: [{image: gcr.io/kpt-fn/set-namespace, versions: ~0.4.1}]
    versions: [{name: v1alpha1, runtime: {starlark: {path: ns.star}}}]
-- ns.star --
config = ctx.resource_list["functionConfig"]
if "namespace" not in config["data"]:
    fail("no namespace")
for r in ctx.resource_list["items"]:
    r["metadata"]["namespace"] = config["data"]["namespace"]
`

// imageStep returns the options for a target with one function, whose image a file names.
func imageStep(t *testing.T, dir, image, data string) render.Options {
	t.Helper()
	o := optionsFor(t, dir)
	o.EnableAlphaPlugins, o.EnableExec = false, false
	id := catalog.IDOf("v1", "ConfigMap")
	step := pipeline.Step{
		Where: "Kptfile:7", Dir: dir, Work: dir, Role: pipeline.Transformer, ID: id, Name: "ns",
		Config: yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ns}\ndata: " + data),
		Inline: &pipeline.Inline{
			Runtime: catalog.Runtime{Kind: "container", Spec: yaml.NewMapRNode(&map[string]string{"image": image})},
			Source:  "the field image", Where: "Kptfile:7", Instead: &catalog.Query{Config: id, Image: image},
		},
	}
	o.Load = func(context.Context, pipeline.Options) (pipeline.Target, error) {
		item := yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
		return pipeline.Sequence{Kind: "Kptfile", Steps: []pipeline.Step{step}}.On([]*yaml.RNode{item}), nil
	}
	return o
}

// TestReplacedImage: the function of a trusted catalog runs in place of an image, without a flag.
// In every other case it is the image that has to be permitted.
func TestReplacedImage(t *testing.T) {
	t.Parallel()
	dir := unpack(t, replacingFiles)
	const image = "gcr.io/kpt-fn/set-namespace:v0.4.1"
	trust := func(o *render.Options) { o.Trusted = []string{"catalog.yaml"} }
	for _, tt := range []struct {
		name, image string
		with        []func(*render.Options)
		replaced    bool
	}{
		{"replaced", image, []func(*render.Options){trust}, true},
		{"replaced although images are permitted", image, []func(*render.Options){trust, func(o *render.Options) { o.EnableAlphaPlugins = true }}, true},
		{"not trusted", image, nil, false},
		{"another version", "gcr.io/kpt-fn/set-namespace:v0.5.0", []func(*render.Options){trust}, false},
		{"another registry", "gcr.example/kpt-fn/set-namespace:v0.4.1", []func(*render.Options){trust}, false},
		{"pinned", image + "@sha256:" + strings.Repeat("0", 64), []func(*render.Options){trust}, false},
		{"switched off", image, []func(*render.Options){trust, func(o *render.Options) { o.NoReplace = true }}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := imageStep(t, dir, tt.image, "{namespace: blue}")
			for _, with := range tt.with {
				with(&o)
			}
			plan, _ := newRenderer(t).Plan(t.Context(), o)
			out, err := newRenderer(t).Render(t.Context(), o)
			if !tt.replaced {
				if s := plan.Steps[0]; err == nil || s.Runtime != "container" || s.Replaces != "" || len(s.Refused) == 0 {
					t.Errorf("%v, %+v", err, s)
				}
				return
			}
			if err != nil || out.Items[0].GetNamespace() != "blue" {
				t.Fatal(out, err)
			}
			s := plan.Steps[0]
			if s.Replaces != tt.image || s.Function != "fn.kpt.dev/v1alpha1/SetNamespace" || s.Entry != "set-namespace" || s.Config != "v1/ConfigMap" || s.Runtime != "starlark" || len(s.Refused) > 0 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestReplacedImagePolicy: policies judge the function that runs, by its type in the catalog.
func TestReplacedImagePolicy(t *testing.T) {
	t.Parallel()
	dir := unpack(t, replacingFiles)
	for functions, denied := range map[string]bool{"fn.kpt.dev/*": true, "/ConfigMap": false} {
		o := imageStep(t, dir, "gcr.io/kpt-fn/set-namespace:v0.4.1", "{namespace: blue}")
		o.Trusted = []string{"catalog.yaml"}
		doc, err := verify.Decoder{}.Decode("p.yaml", []byte("apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nspec:\n  rules:\n"+
			"  - {match: '**', functions: "+functions+", deny: not these}\n  - {match: '**', catalogs: {nothing: a}, runtimes: {nothing: a}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		o.Policy = verify.Policy{Documents: []*verify.TrustPolicy{doc}}
		_, err = newRenderer(t).Render(t.Context(), o)
		if (err != nil) != denied || denied && (!errors.As(err, new(*verify.UntrustedError)) || !strings.Contains(err.Error(), "not these")) {
			t.Errorf("%s: %v", functions, err)
		}
	}
}

// TestReplacedImageDefers: what the config says about failures holds for the function that runs.
func TestReplacedImageDefers(t *testing.T) {
	t.Parallel()
	dir := unpack(t, replacingFiles)
	for _, deferred := range []bool{false, true} {
		o := imageStep(t, dir, "gcr.io/kpt-fn/set-namespace:v0.4.1", "{}")
		o.Trusted = []string{"catalog.yaml"}
		load := o.Load
		o.Load = func(ctx context.Context, p pipeline.Options) (pipeline.Target, error) {
			target, err := load(ctx, p)
			if err == nil {
				steps := target.Steps()
				steps[0].Inline.DeferFailure = deferred
				steps = append(steps, steps[0])
				target = pipeline.Sequence{Kind: "Kptfile", Steps: steps}.On([]*yaml.RNode{yaml.MustParse("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")})
			}
			return target, err
		}
		out, err := newRenderer(t).Render(t.Context(), o)
		if err == nil || (len(out.Records) == 2) != deferred {
			t.Errorf("deferred %v: %d calls, %v", deferred, len(out.Records), err)
		}
	}
}
