package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/catalog"
)

// generate writes a catalog of n functions with schemas, about 1.6 KB for each.
func generate(n int) []byte {
	var b strings.Builder
	b.WriteString(head + "kind: Catalog\nmetadata: {name: generated}\nspec:\n  krmFunctions:\n")
	for i := range n {
		fmt.Fprintf(&b, `  - group: g%d.example.com
    names:
      kind: Kind%d
    description: "Generated function number %d"
    publisher: example.com
    versions:
`, i%50, i, i)
		for _, v := range []string{"v1", "v1beta1"} {
			fmt.Fprintf(&b, `    - name: %s
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            apiVersion: {type: string}
            kind: {type: string}
            spec:
              type: object
              properties:
                replicas:
                  type: integer
                  minimum: 0
                selector:
                  type: object
                  additionalProperties:
                    type: string
                    pattern: "^[a-z]+$"
      idempotent: true
      usage: https://example.com/functions/%d/README.md
      examples:
      - https://example.com/functions/%d/example.md
      license: Apache-2.0
      runtime:
        exec:
          platforms:
          - {bin: f, os: linux, arch: amd64, uri: "oci://example.com/f%d:%s", sha256: %064x}
          - {bin: f, os: darwin, arch: arm64, uri: "oci://example.com/f%d:%s", sha256: %064x}
`, v, i, i, i, v, i, i, v, i)
		}
	}
	return []byte(b.String())
}

func benchmarkDecode(b *testing.B, n int) {
	data := generate(n)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		c, err := catalog.Decode("c.yaml", data)
		if err != nil || len(c.Functions) != 2*n {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode1000(b *testing.B)  { benchmarkDecode(b, 1000) }
func BenchmarkDecode10000(b *testing.B) { benchmarkDecode(b, 10000) }

func BenchmarkResolve(b *testing.B) {
	c, err := catalog.Decode("c.yaml", generate(10000))
	if err != nil {
		b.Fatal(err)
	}
	ids := make([]catalog.FunctionID, 0, len(c.Functions))
	for _, f := range c.Functions {
		ids = append(ids, f.ID)
	}
	i := 0
	for b.Loop() {
		if _, err := c.Resolve(b.Context(), of(ids[i%len(ids)])); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func BenchmarkResolveMissing(b *testing.B) {
	c, err := catalog.Decode("c.yaml", generate(10000))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Resolve(b.Context(), of(catalog.FunctionID{Group: "g1.example.com", Version: "v1", Kind: "None"})); err == nil {
			b.Fatal("found a function that no catalog has")
		}
	}
}

// TestDecodeLinear counts allocations instead of time: they do not depend on the machine.
func TestDecodeLinear(t *testing.T) {
	small, large := generate(100), generate(1000)
	count := func(data []byte) float64 {
		return testing.AllocsPerRun(1, func() {
			if _, err := catalog.Decode("c.yaml", data); err != nil {
				t.Fatal(err)
			}
		})
	}
	if a, b := count(small), count(large); b > 11*a {
		t.Errorf("10 times the functions took %.0f times the allocations", b/a)
	}
}
