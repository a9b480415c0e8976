package likeness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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
	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/livetest"
	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/sandbox"
)

func TestMain(m *testing.M) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	if filepath.Base(os.Args[0]) == "fn" {
		os.Exit(runFunction())
	}
	os.Exit(m.Run())
}

// hostEnv is read before any test: while kustomize runs in this process, PATH is not set.
var hostEnv = os.Environ()

// cli is the kustomize CLI that a test compares with, or its stored results.
type cli struct {
	results *livetest.Results
}

// kustomize returns the CLI for a test, whose results are stored in testdata under the test's name.
func kustomize(t *testing.T) cli {
	t.Helper()
	return cli{livetest.Open(t, filepath.Join("testdata", t.Name()+".txtar"))}
}

// refused is the stored result if kustomize does not build a target. The text of its error is not
// stored, because it names temporary directories.
const refused = "# refused\n"

// build runs `kustomize build` in a directory, or in the directory below it that a flag dir= names.
// If the real programs do not run, it returns the stored result, which holds only for the same
// files and flags.
func (k cli) build(t *testing.T, root string, flags []string) ([]byte, error) {
	t.Helper()
	key := t.Name() + " " + inputs(t, root, flags)
	dir, flags := start(root, flags)
	if !livetest.On() {
		stored, ok := k.results.Get(key)
		switch {
		case !ok:
			t.Fatal("the result of kustomize for these files and flags is not stored: try make live-update")
		case string(stored) == refused:
			return nil, errors.New("kustomize refused these files when the result was stored")
		}
		return stored, nil
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(livetest.Tool(t, "kustomize"), append([]string{"build", dir}, flags...)...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var refusal error
	if cmd.Run() != nil {
		stdout.Reset()
		stdout.WriteString(refused)
		refusal = errors.New(stderr.String())
	}
	if err := k.results.Same(key, map[string][]byte{key: stdout.Bytes()}, nil); err != nil {
		t.Fatal(err)
	}
	return stdout.Bytes(), refusal
}

// inputs returns a hash of the files of a target and of the flags, without the function of these
// tests.
func inputs(t *testing.T, root string, flags []string) string {
	t.Helper()
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n", flags)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "fn" {
			return err
		}
		text, err := os.Readlink(path)
		if d.Type()&fs.ModeSymlink == 0 {
			var data []byte
			data, err = os.ReadFile(path)
			text = string(data)
		}
		fmt.Fprintf(hash, "%q %q\n", strings.TrimPrefix(path, root), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// unpack writes a target to disk, with the function in every directory.
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

// putFunction puts the function of these tests into every directory, as a further name of this
// program. A symbolic link would lead out of the target.
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

// options converts flags of `kustomize build` to the options of a render.
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

// krmcat renders a target with krmcat.
func krmcat(t *testing.T, dir string, flags []string) ([]byte, error) {
	t.Helper()
	out, err := renderer(t).Render(context.Background(), options(t, dir, flags))
	if err != nil {
		return nil, err
	}
	return render.YAML(out.Items)
}

// targets lists the archives of a directory.
func targets(t *testing.T, folder string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("../../testdata/targets", folder, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return all
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
	k := kustomize(t)
	for _, folder := range []struct {
		name  string
		least int
	}{{"likeness", 30}, {"functions", 20}} {
		archives := targets(t, folder.name)
		if len(archives) < folder.least {
			t.Errorf("%s has %d targets, want at least %d", folder.name, len(archives), folder.least)
		}
		for _, archive := range archives {
			name := folder.name + "/" + strings.TrimSuffix(filepath.Base(archive), ".txtar")
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir, flags := unpack(t, archive)
				if folder.name == "functions" {
					flags = append(flags, "--enable-alpha-plugins", "--enable-exec")
				}
				want, err := k.build(t, dir, flags)
				dir, flags = start(dir, flags)
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
