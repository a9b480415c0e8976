package fnexec_test

import (
	"bytes"
	"testing"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/fnexec"
)

func thousand(b *testing.B) []*yaml.RNode {
	b.Helper()
	var items []*yaml.RNode
	for i := range 1000 {
		items = append(items, node(b, deployment(i)))
	}
	return items
}

// BenchmarkCall measures five functions, without processes: one that returns its input, one that
// changes the first item, and one that changes every item.
func BenchmarkCall(b *testing.B) {
	config := node(b, "apiVersion: example.com/v1\nkind: Copy\n")
	for _, c := range []struct {
		name string
		r    fnexec.Runner
	}{
		{"same", echo()},
		{"first", edits("name: app-0\n", "name: changed\n")},
		{"all", edits("\n    namespace: shop\n", "\n    namespace: changed\n", "\n    namespace: changed\n", "\n    namespace: shop\n")},
	} {
		b.Run(c.name, func(b *testing.B) {
			items := thousand(b)
			b.ReportAllocs()
			for b.Loop() {
				for range 5 {
					out, err := fnexec.Call(b.Context(), c.r, fnexec.Input{Config: config, Items: items})
					if err != nil {
						b.Fatal(err)
					}
					items = out.Items
				}
			}
		})
	}
}

// BenchmarkBaseline measures kyaml's printer and parser, five times each.
func BenchmarkBaseline(b *testing.B) {
	items := thousand(b)
	b.ReportAllocs()
	for b.Loop() {
		for range 5 {
			var buf bytes.Buffer
			w := kio.ByteWriter{Writer: &buf, KeepReaderAnnotations: true,
				WrappingAPIVersion: "config.kubernetes.io/v1", WrappingKind: "ResourceList"}
			if err := w.Write(items); err != nil {
				b.Fatal(err)
			}
			var err error
			if items, err = (&kio.ByteReader{Reader: &buf, OmitReaderAnnotations: true}).Read(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
