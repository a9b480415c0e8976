package registry_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

// victimEnv makes the test binary a process that runs until it is killed.
const victimEnv = "KRMCAT_TEST_VICTIM"

func TestMain(m *testing.M) {
	if dir := os.Getenv(victimEnv); dir != "" {
		victim(dir, os.Getenv(victimEnv+"_REGISTRY"))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// victimFiles are large enough to be interrupted.
func victimFiles(i int) registry.Bundle {
	data := bytes.Repeat(fmt.Append(nil, i%10), 1<<20)
	return registry.Bundle{Role: mediatypes.RoleStarlark, Files: []registry.File{
		{Title: "a.star", Data: data}, {Title: "b.star", Data: append(data, 'b')},
	}}
}

// victim pushes to a layout, reads from a registry through a cache and pulls, in an endless loop.
// It prints a line before each round.
func victim(dir, ref string) {
	ctx := context.Background()
	c, err := registry.New(registry.Options{CacheDir: filepath.Join(dir, "cache")})
	check(err)
	for i := 0; ; i++ {
		fmt.Println(i)
		l, err := reference.Parse(fmt.Sprintf("oci-layout://%s/layout:v%d", dir, i%10))
		check(err)
		_, err = c.Push(ctx, l, victimFiles(i))
		check(err)
		l, err = reference.Parse(fmt.Sprintf("%s:v%d", ref, i%10))
		check(err)
		a, err := c.Resolve(ctx, l, registry.Want{})
		check(err)
		_, err = c.Pull(ctx, a, filepath.Join(dir, "out"))
		check(err)
		check(os.RemoveAll(filepath.Join(dir, "cache", "blobs"))) // so that it is filled again
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	reg := regtest.Start(t, regtest.Options{})
	ref := "oci://" + reg.Host + "/script"
	c := newClient(t, registry.Options{})
	for i := range 10 {
		if _, err := c.Push(t.Context(), mustParse(t, fmt.Sprintf("%s:v%d", ref, i)), victimFiles(i)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for round := range 12 {
		killVictim(t, dir, ref, round)
		checkLeftovers(t, dir)
	}
	survivor := newClient(t, registry.Options{CacheDir: filepath.Join(dir, "cache")})
	for i := range 10 {
		a, err := survivor.Resolve(t.Context(), mustParse(t, fmt.Sprintf("%s:v%d", ref, i)), registry.Want{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := survivor.Pull(t.Context(), a, filepath.Join(dir, "out")); err != nil {
			t.Error(err)
		}
		if _, err := survivor.Push(t.Context(), mustParse(t, fmt.Sprintf("oci-layout://%s/layout:v%d", dir, i)), victimFiles(i)); err != nil {
			t.Error(err)
		}
	}
}

// killVictim starts a victim and kills it during its n-th round.
func killVictim(t *testing.T, dir, ref string, n int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), victimEnv+"="+dir, victimEnv+"_REGISTRY="+ref)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for i := 0; i <= n && lines.Scan(); i++ {
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if stderr.Len() > 0 {
		t.Fatalf("the victim died of something else: %s", &stderr)
	}
}

// checkLeftovers checks that every tag of the layout can be read and every pulled file is complete.
func checkLeftovers(t *testing.T, dir string) {
	t.Helper()
	c := newClient(t, registry.Options{})
	for i := range 10 {
		a, err := c.Resolve(t.Context(), mustParse(t, fmt.Sprintf("oci-layout://%s/layout:v%d", dir, i)), registry.Want{})
		if isA[*registry.NotFoundError](err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for f := range a.Files {
			if _, err := a.ReadFile(t.Context(), f); err != nil {
				t.Error(err)
			}
		}
	}
	entries, _ := os.ReadDir(filepath.Join(dir, "out"))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".krmcat-tmp-") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "out", e.Name()))
		if err != nil || len(data) < 1<<20 || strings.Trim(string(data[:1<<20]), string(data[:1])) != "" {
			t.Errorf("%s is half-written: %d bytes, %v", e.Name(), len(data), err)
		}
	}
}
