package pipeline_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/pipeline"
)

// stuck is a file system with a file whose reader waits until it is let go.
type stuck struct {
	filesys.FileSystem
	reading chan struct{} // closed when it is read
	let     chan struct{}
}

func (s stuck) Open(path string) (filesys.File, error) {
	if strings.HasSuffix(path, "/stuck.txt") {
		close(s.reading)
		<-s.let
	}
	return s.FileSystem.Open(path)
}

var errEnough = errors.New("enough")

// TestLeave ends a build while kustomize is busy, alone and with functions that ran before.
// kustomize takes no context: it is left to itself, and the next build waits for it.
func TestLeave(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]string{
		"alone": "-- kustomization.yaml --\nconfigMapGenerator: [{name: a, files: [stuck.txt]}]\n-- stuck.txt --\nx\n",
		"after a function": "-- kustomization.yaml --\nresources: [base]\nconfigMapGenerator: [{name: a, files: [stuck.txt]}]\n-- stuck.txt --\nx\n" +
			"-- base/kustomization.yaml --\ngenerators:\n- |-\n  apiVersion: example.com/v1\n  kind: Fn\n  metadata: {name: fn}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			fsys := stuck{inMemory(t, files), make(chan struct{}), make(chan struct{})}
			tgt, err := pipeline.Load(t.Context(), fsys, "/t", pipeline.Options{Executable: self, TempDir: temp})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			ran := 0
			done := make(chan error, 1)
			go func() {
				_, err := itemsOf(tgt.Build)(ctx, func(context.Context, int, []*yaml.RNode) ([]*yaml.RNode, error) {
					ran++
					return nil, nil
				})
				done <- err
			}()
			select {
			case <-fsys.reading:
			case err := <-done:
				t.Fatalf("it ended before: %v", err)
			}
			cancel(errEnough)
			if err := <-done; !errors.Is(err, errEnough) || ran != len(tgt.Steps()) {
				t.Errorf("%v, after %d functions", err, ran)
			}
			if names, err := os.ReadDir(temp); err != nil || len(names) > 0 {
				t.Errorf("left: %v, %v", names, err)
			}
			close(fsys.let)
			next, _ := mustLoad(t, "-- kustomization.yaml --\nconfigMapGenerator: [{name: a}]\n")
			if items, err := itemsOf(next.Build)(t.Context(), keep); err != nil || len(items) != 1 {
				t.Errorf("the next: %v, %v", items, err)
			}
		})
	}
}

// TestBuildWithFunctionsWritesNothing: functions are called by kustomize in the process.
func TestBuildWithFunctionsWritesNothing(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	files := "-- kustomization.yaml --\ngenerators:\n- |-\n  apiVersion: example.com/v1\n  kind: Fn\n  metadata: {name: fn}\n"
	tgt, err := pipeline.Load(t.Context(), inMemory(t, files), "/t", pipeline.Options{TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	_, err = itemsOf(tgt.Build)(t.Context(), func(context.Context, int, []*yaml.RNode) ([]*yaml.RNode, error) {
		ran++
		if names, err := os.ReadDir(temp); err != nil || len(names) > 0 {
			t.Errorf("written: %v, %v", names, err)
		}
		return nil, errEnough
	})
	if !errors.Is(err, errEnough) || ran != 1 {
		t.Errorf("%v, after %d functions", err, ran)
	}
}
