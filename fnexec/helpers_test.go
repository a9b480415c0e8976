package fnexec_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
)

// runnerFunc is a function in place of a process.
type runnerFunc func(ctx context.Context, in io.Reader, out, stderr io.Writer) error

func (f runnerFunc) Run(ctx context.Context, in io.Reader, out, stderr io.Writer) error {
	return f(ctx, in, out, stderr)
}

// echo copies its input.
func echo() fnexec.Runner {
	return runnerFunc(func(_ context.Context, in io.Reader, out, _ io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	})
}

// says writes a text, whatever its input.
func says(stdout string) fnexec.Runner {
	return runnerFunc(func(_ context.Context, in io.Reader, out, _ io.Writer) error {
		_, err := io.WriteString(out, stdout)
		return err
	})
}

// edits replaces text in its input.
func edits(oldnew ...string) fnexec.Runner {
	return runnerFunc(func(_ context.Context, in io.Reader, out, _ io.Writer) error {
		b, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		_, err = strings.NewReplacer(oldnew...).WriteString(out, string(b))
		return err
	})
}

func node(t testing.TB, s string) *yaml.RNode {
	t.Helper()
	n, err := yaml.Parse(s)
	if err != nil {
		t.Fatalf("parsing %q: %v", s, err)
	}
	return n
}

func nodes(t testing.TB, docs ...string) []*yaml.RNode {
	t.Helper()
	var out []*yaml.RNode
	for _, d := range docs {
		out = append(out, node(t, d))
	}
	return out
}

func text(t testing.TB, items []*yaml.RNode) string {
	t.Helper()
	var parts []string
	for _, i := range items {
		s, err := i.String()
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "---\n")
}

func deployment(i int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%d
  namespace: shop
  labels:
    app: app-%d
spec:
  replicas: 3
  selector:
    matchLabels:
      app: app-%d
  template:
    metadata:
      labels:
        app: app-%d
    spec:
      containers:
      - name: main
        image: example.com/shop/app:%d
        args:
        - --verbose
        - --port=8080
        ports:
        - containerPort: 8080
        env:
        - name: LEVEL
          value: "3"
        resources:
          limits:
            memory: 64Mi
`, i, i, i, i, i)
}
