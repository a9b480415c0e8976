package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
)

// TestImage builds the container image of `make image`, and renders with a Starlark function in it.
// The base image is empty, since no image can be pulled in a test.
func TestImage(t *testing.T) {
	t.Parallel()
	env := enginetest.Docker(t)
	bin := t.TempDir()
	image := fmt.Sprintf("krmcat-test:%d", os.Getpid())
	build := exec.CommandContext(t.Context(), "make", "-C", top, "image", "BIN="+bin, "BASE=scratch", "IMAGE="+image)
	build.Env = append(env, "DOCKER_BUILDKIT=0") // the builder that every engine has
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make image: %v\n%s", err, out)
	}
	t.Cleanup(func() { enginetest.Call(t, env, "docker", "image", "rm", image) })

	dir := t.TempDir()
	for name, text := range map[string]string{
		"kustomization.yaml": "resources: [cm.yaml]\ntransformers: [fn.yaml]\n",
		"cm.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\n",
		"fn.yaml": "apiVersion: example.com/v1\nkind: Fn\nmetadata:\n  name: fn\n  annotations:\n" +
			"    config.kubernetes.io/function: |\n      starlark: {path: fn.star}\n",
		"fn.star": "for r in ctx.resource_list[\"items\"]:\n    r[\"data\"] = {\"by\": \"fn\"}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := enginetest.Call(t, env, "docker", "run", "--rm", "--network", "none", "--volume", dir+":/app:ro", image,
		"render", "/app", "--enable-alpha-plugins")
	const want = "apiVersion: v1\ndata:\n  by: fn\nkind: ConfigMap\nmetadata:\n  name: cm\n"
	if out != want {
		t.Errorf("krmcat in the container writes %q, want %q", out, want)
	}
}
