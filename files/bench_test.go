package files_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/files"
)

// deployment is a resource of usual size.
func deployment(i int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-%d # kpt-set: ${name}
  namespace: prod
  labels:
    app: web
    tier: "front"
spec:
  replicas: 3
  selector:
    matchLabels:
      app: web
  template:
    metadata:
      labels:
        app: web
    spec:
      containers:
      - name: web
        image: nginx:1.25.3
        args: ["--a", "--b"]
        ports:
        - containerPort: 8080
        env:
        - name: A
          value: "1"
        - name: B
          value: "2"
        resources:
          limits:
            cpu: 100m
            memory: 128Mi
`, i)
}

func benchDir(b *testing.B, n, each int) string {
	b.Helper()
	dir := b.TempDir()
	for i := 0; i < n; i += each {
		var out strings.Builder
		for j := i; j < min(i+each, n); j++ {
			out.WriteString("---\n" + deployment(j))
		}
		path := filepath.Join(dir, fmt.Sprintf("d%d", i/each%20), fmt.Sprintf("f%d.yaml", i))
		writeFile(b, path, out.String())
	}
	return dir
}

// BenchmarkTree: reading, comparing and writing 1,000 resources, next to parsing and printing them
// once with kyaml.
func BenchmarkTree(b *testing.B) {
	const n = 1000
	for _, each := range []int{1, 100} {
		dir := benchDir(b, n, each)
		tree, err := files.Read(b.Context(), dir, files.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("read/%d", each), func(b *testing.B) {
			for b.Loop() {
				if _, err := files.Read(b.Context(), dir, files.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("items/%d", each), func(b *testing.B) {
			for b.Loop() {
				tree.Items()
			}
		})
		items := tree.Items()
		b.Run(fmt.Sprintf("same/%d", each), func(b *testing.B) {
			for b.Loop() {
				if c, err := tree.Change(items); err != nil || len(c.Files()) > 0 {
					b.Fatal(err)
				}
			}
		})
		changed := tree.Items()
		for _, item := range changed {
			if err := item.PipeE(yaml.Lookup("spec"), yaml.SetField("replicas", yaml.NewScalarRNode("7"))); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("all/%d", each), func(b *testing.B) {
			for b.Loop() {
				if c, err := tree.Change(changed); err != nil || len(c.Files()) == 0 {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("apply/%d", each), func(b *testing.B) {
			for b.Loop() {
				tree, err := files.Read(b.Context(), dir, files.Options{})
				if err != nil {
					b.Fatal(err)
				}
				items := tree.Items()
				for _, item := range items {
					replicas := item.Field("spec").Value.Field("replicas").Value.YNode()
					replicas.Value += "1"
					replicas.Value = replicas.Value[len(replicas.Value)-1:] + fmt.Sprint(b.N%7)
				}
				c, err := tree.Change(items)
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Apply(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	var all bytes.Buffer
	for i := range n {
		all.WriteString("---\n" + deployment(i))
	}
	b.Run("kyaml", func(b *testing.B) {
		for b.Loop() {
			nodes, err := (&kio.ByteReader{Reader: bytes.NewReader(all.Bytes())}).Read()
			if err != nil {
				b.Fatal(err)
			}
			if err := (kio.ByteWriter{Writer: &bytes.Buffer{}}).Write(nodes); err != nil {
				b.Fatal(err)
			}
		}
	})
}
