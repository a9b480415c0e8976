package likeness

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/krmcat/krmcat/fnexec"
	execrt "github.com/krmcat/krmcat/fnexec/exec"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/internal/step"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/sandbox"
)

func TestMain(m *testing.M) {
	step.Leave(os.Args)
	shim.Leave(os.Args)
	if filepath.Base(os.Args[0]) == "fn" {
		os.Exit(runFunction())
	}
	os.Exit(m.Run())
}

// hostEnv is read once: while kustomize runs in this process, there is no PATH.
var hostEnv = os.Environ()

// kustomize is the CLI to compare with. It is built by `make tools`.
func kustomize(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/tools/kustomize")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the kustomize CLI to compare with is not there, run `make tools`: %v", err)
	}
	return path
}

// unpack writes a target to disk, with the function beside every file.
func unpack(t *testing.T, archive string) (dir string, flags []string) {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	dir = filetest.Unpack(t, a.Files)
	for _, line := range strings.Split(string(a.Comment), "\n") {
		if rest, ok := strings.CutPrefix(line, "flags:"); ok {
			flags = append(flags, strings.Fields(rest)...)
		}
	}
	putFunction(t, dir)
	return dir, flags
}

// putFunction puts the function of these tests into every directory: this program, under one
// more name. A symbolic link would lead out of the target.
func putFunction(t *testing.T, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Link(self, filepath.Join(path, "fn"))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// options turns flags of `kustomize build` into those of a render.
func options(t *testing.T, dir string, flags []string) render.Options {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := render.Options{
		Dir: dir, WorkDir: dir, Target: pipeline.Options{Executable: self},
		Allow: sandbox.Allow{Host: hostEnv},
	}
	for _, f := range flags {
		switch f {
		case "--enable-alpha-plugins":
			o.EnableAlphaPlugins = true
		case "--enable-exec":
			o.EnableExec = true
		case "--load-restrictor=LoadRestrictionsNone":
			o.Target.LoadAnywhere = true
		case "--reorder=none":
			o.Target.Reorder = pipeline.ReorderNone
		case "--reorder=legacy":
			o.Target.Reorder = pipeline.ReorderLegacy
		case "--enable-managedby-label":
			o.Target.ManagedBy = true
		default:
			t.Fatalf("flag %s", f)
		}
	}
	return o
}

func renderer(t *testing.T) *render.Renderer {
	t.Helper()
	client, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &render.Renderer{
		Resolve: client.Resolve, FS: filesys.MakeFsOnDisk(),
		Runtimes: []fnexec.Runtime{execrt.New(execrt.Options{CacheDir: t.TempDir()})},
	}
}

// krmcat renders with krmcat.
func krmcat(t *testing.T, dir string, flags []string) ([]byte, error) {
	t.Helper()
	out, err := renderer(t).Render(context.Background(), options(t, dir, flags))
	if err != nil {
		return nil, err
	}
	return render.YAML(out.Items)
}

// targets lists the archives of a folder.
func targets(t *testing.T, folder string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("../../testdata/targets", folder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// build runs `kustomize build` in the directory of the target.
func build(t *testing.T, cli, dir string, flags []string) ([]byte, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(cli, append([]string{"build", dir}, flags...)...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, errors.New(stderr.String())
	}
	return stdout.Bytes(), nil
}

func start(dir string, flags []string) (string, []string) {
	for i, f := range flags {
		if sub, ok := strings.CutPrefix(f, "dir="); ok {
			return filepath.Join(dir, sub), slices.Delete(slices.Clone(flags), i, i+1)
		}
	}
	return dir, flags
}

func TestLikeKustomize(t *testing.T) {
	t.Parallel()
	for _, folder := range []struct {
		name  string
		least int
	}{{"likeness", 30}, {"functions", 20}} {
		archives := targets(t, folder.name)
		if len(archives) < folder.least {
			t.Errorf("%s has %d targets, at least %d are promised", folder.name, len(archives), folder.least)
		}
		for _, archive := range archives {
			name := folder.name + "/" + strings.TrimSuffix(filepath.Base(archive), ".txtar")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir, flags := unpack(t, archive)
				dir, flags = start(dir, flags)
				if folder.name == "functions" {
					flags = append(flags, "--enable-alpha-plugins", "--enable-exec")
				}
				want, err := build(t, kustomize(t), dir, flags)
				if err != nil {
					t.Fatalf("kustomize cannot build this target, so there is nothing to compare: %v", err)
				}
				if len(want) == 0 {
					t.Fatal("kustomize printed nothing")
				}
				for range 2 {
					got, err := krmcat(t, dir, flags)
					if err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(string(want), string(got)); diff != "" {
						t.Fatalf("differs from kustomize (-kustomize +krmcat):\n%s", diff)
					}
				}
			})
		}
	}
}
