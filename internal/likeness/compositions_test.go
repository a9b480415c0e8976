package likeness

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/krmcat/krmcat/internal/filetest"
)

// The two sides of a comparison: a target for krmcat only, and an equivalent target for the
// kustomize CLI. Files below both/ belong to each of them.
const (
	oursDir   = "ours/"
	theirsDir = "theirs/"
	bothDir   = "both/"
)

// sides unpacks an archive of two targets.
func sides(t *testing.T, a *txtar.Archive) (ours, theirs string) {
	t.Helper()
	var files []txtar.File
	for _, f := range a.Files {
		rest, both := strings.CutPrefix(f.Name, bothDir)
		if !both {
			files = append(files, f)
			continue
		}
		files = append(files, txtar.File{Name: oursDir + rest, Data: f.Data}, txtar.File{Name: theirsDir + rest, Data: f.Data})
	}
	dir := filetest.Unpack(t, files)
	putFunction(t, dir)
	return filepath.Join(dir, oursDir), filepath.Join(dir, theirsDir)
}

// byID sorts the documents of an output by their whole text. apiVersion, kind, namespace and name
// are at different places in each document, and cannot be compared alone.
func byID(out []byte) string {
	docs := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n---\n")
	slices.Sort(docs)
	return strings.Join(docs, "\n---\n") + "\n"
}

// alike renders ours and builds theirs, and compares the output. A Composition keeps the order of
// its pipeline, where kustomize sorts. So the order of documents is not compared for a Composition.
func alike(t *testing.T, k cli, a *txtar.Archive) {
	t.Helper()
	if why := compare(t, k, a); why != nil {
		t.Fatalf("kustomize cannot build this target, so there is nothing to compare: %v", why)
	}
}

// alikeOrRefused does the same, but also accepts that neither can be built.
func alikeOrRefused(t *testing.T, k cli, a *txtar.Archive) {
	t.Helper()
	why := compare(t, k, a)
	if why == nil {
		return
	}
	ours, _ := sides(t, a)
	got, err := krmcat(t, ours, []string{"--enable-alpha-plugins", "--enable-exec"})
	if err == nil {
		t.Errorf("kustomize refuses it: %v\nkrmcat gives\n%s", why, got)
	}
}

// compare compares the output. It returns kustomize's error if kustomize cannot build theirs.
func compare(t *testing.T, k cli, a *txtar.Archive) (refused error) {
	t.Helper()
	var flags []string
	ordered := true
	for _, line := range strings.Split(string(a.Comment), "\n") {
		if rest, ok := strings.CutPrefix(line, "flags:"); ok {
			flags = append(flags, strings.Fields(rest)...)
		}
	}
	ours, theirs := sides(t, a)
	flags = append(flags, "--enable-alpha-plugins", "--enable-exec")
	want, refused := k.build(t, theirs, flags)
	ours, flags = start(ours, flags)
	if _, err := os.Stat(filepath.Join(ours, "composition.yaml")); err == nil {
		ordered = slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--reorder=") })
	}
	if refused != nil {
		return refused
	}
	if len(bytes.TrimSpace(want)) == 0 {
		t.Fatal("kustomize printed nothing")
	}
	var before []byte
	for i := range 2 {
		got, err := krmcat(t, ours, flags)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(before), string(got)); i > 0 && diff != "" {
			t.Fatalf("two renders differ:\n%s", diff)
		}
		before = got
	}
	a1, b1 := string(want), string(before)
	if !ordered {
		a1, b1 = byID(want), byID(before)
	}
	if diff := cmp.Diff(a1, b1); diff != "" {
		t.Fatalf("differs from kustomize (-kustomize +krmcat):\n%s", diff)
	}
	return nil
}

// TestCompositionsLikeKustomizations compares Compositions, and Kustomizations that contain some,
// with equivalent Kustomizations and Components.
func TestCompositionsLikeKustomizations(t *testing.T) {
	t.Parallel()
	k := kustomize(t)
	archives := targets(t, "compositions")
	if len(archives) < 30 {
		t.Errorf("%d targets, want at least 30", len(archives))
	}
	for _, archive := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			alike(t, k, a)
		})
	}
}

// TestInternalNamesAreNotPrinted checks that buildMetadata prints no name of a file or resource
// that krmcat makes only for kustomize.
func TestInternalNamesAreNotPrinted(t *testing.T) {
	t.Parallel()
	for _, archive := range targets(t, "compositions") {
		a, err := txtar.ParseFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(a.Files, func(f txtar.File) bool {
			return f.Name == oursDir+"kustomization.yaml" || f.Name == bothDir+"kustomization.yaml"
		})
		if at < 0 {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(archive), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a.Files[at].Data = append([]byte("buildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]\n"), a.Files[at].Data...)
			ours, _ := sides(t, a)
			got, err := krmcat(t, ours, []string{"--enable-alpha-plugins", "--enable-exec"})
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(string(got), "\n") {
				if strings.Contains(line, "krmcat") || strings.Contains(line, "kind: Step") || strings.Contains(line, ours) {
					t.Errorf("the output contains the line %q", line)
				}
			}
		})
	}
}
