package process

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/filetest"
	"github.com/krmcat/krmcat/internal/regtest"
)

// TestKilledAtAnyMoment kills `pull` and `render` as soon as they have made the n-th file or
// directory, for every n until they end by themselves. An incomplete file is never used as a
// complete one, and the next run succeeds.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the function is a shell script")
	}
	k := killer{t: t, dir: t.TempDir()}
	k.publish("oci://" + regtest.Start(t, regtest.Options{}).Host)
	t.Run("pull", func(t *testing.T) {
		t.Parallel()
		k.rounds(t, []string{"pull", k.ref + ":copy", "-o", "out"}, filepath.Join("out", "copy.sh"), k.script)
	})
	t.Run("render", func(t *testing.T) {
		t.Parallel()
		k.rounds(t, []string{"render", k.app, "--trusted-catalog", k.ref + ":catalog", "-o", "out.yaml"}, "out.yaml", k.want)
	})
}

type killer struct {
	t            *testing.T
	dir          string
	ref, app     string
	script, want []byte
}

// publish pushes a program of some size, and a catalog that names it.
func (k *killer) publish(host string) {
	k.ref, k.app = host+"/fn", filepath.Join(k.dir, "app")
	k.script = append([]byte("#!/bin/sh\nexec cat\n# "), bytes.Repeat([]byte("x"), 2<<20)...)
	k.write("copy.sh", k.script)
	k.write("catalog.yaml", []byte(`apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: c}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: Copy}
    description: copies
    versions:
    - name: v1
      runtime: {exec: {uri: "`+k.ref+`:copy"}}
`))
	k.write("app/kustomization.yaml", []byte("resources: [cm.yaml]\ntransformers: [{apiVersion: example.com/v1, kind: Copy}]\n"))
	k.write("app/cm.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
	k.want = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	for _, args := range [][]string{
		{"push", k.ref + ":copy", "--platform", platform + "=copy.sh"},
		{"push", k.ref + ":catalog", "catalog.yaml", "--pin"},
	} {
		if out, err := k.command(k.dir, args).CombinedOutput(); err != nil {
			k.t.Fatalf("krmcat %s: %v: %s", args, err, out)
		}
	}
}

func (k *killer) write(name string, data []byte) {
	path := filepath.Join(k.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		k.t.Fatal(err)
	}
	if err := filetest.WriteProgram(path, data); err != nil {
		k.t.Fatal(err)
	}
}

// command prepares krmcat with a cache and a home of its own below a directory.
func (k *killer) command(dir string, args []string) *exec.Cmd {
	cmd := program.Command(k.t.Context(), k.t, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "KRMCAT_CACHE_DIR="+filepath.Join(dir, "cache"), "HOME="+dir, "GOCOVERDIR="+dir)
	return cmd
}

// rounds kills a command later and later, until it ends before it is killed.
func (k *killer) rounds(t *testing.T, args []string, output string, want []byte) {
	killed := 0
	for n := 0; ; n++ {
		dir := t.TempDir()
		done := k.killAt(t, dir, args, n)
		path := filepath.Join(dir, output)
		if got, err := os.ReadFile(path); err == nil && !bytes.Equal(got, want) {
			t.Fatalf("killed at file %d it left %s half-written: %d of %d bytes", n, output, len(got), len(want))
		}
		if out, err := k.command(dir, args).CombinedOutput(); err != nil {
			t.Fatalf("after it was killed at file %d: %v: %s", n, err, out)
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("after it was killed at file %d: %d bytes, want %d (%v)", n, len(got), len(want), err)
		}
		if done {
			break
		}
		killed++
	}
	if killed < 3 {
		t.Errorf("it was killed only %d times: too few to test anything", killed)
	}
}

// killAt starts a command and kills it when there are more than n files. It reports whether the
// command ended by itself.
func (k *killer) killAt(t *testing.T, dir string, args []string, n int) (done bool) {
	cmd := k.command(dir, args)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("it failed by itself: %v", err)
			}
			return true
		default:
		}
		if entries(dir) > n {
			_ = cmd.Process.Kill()
			return <-ended == nil
		}
	}
}

func entries(dir string) int {
	n := -1 // do not count the directory itself
	_ = filepath.WalkDir(dir, func(string, fs.DirEntry, error) error { n++; return nil })
	return n
}
