package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/krmcat/krmcat/catalog"
)

// catalogs measures how the time to load a catalog and resolve all its functions grows with the
// size of the catalog.
type catalogs struct{ quick bool }

func (c catalogs) String() string { return "load and resolve catalogs" }

// growth is the factor between the sizes of the two catalogs.
const growth = 10

func (c catalogs) measure(ctx context.Context, o options, _ string) (row, error) {
	few := 1000
	if c.quick {
		few = 50
	}
	small, large := generate(few), generate(growth*few)
	var took [2][]time.Duration
	for round := range o.rounds + 1 {
		for i, data := range [][]byte{small, large} {
			d, err := loadAndResolve(ctx, data)
			if err != nil {
				return row{}, err
			}
			if round > 0 {
				took[i] = append(took[i], d)
			}
		}
	}
	a, b := median(took[0]), median(took[1])
	ratio := b.Seconds() / a.Seconds()
	return row{
		what:   fmt.Sprintf("catalog of %d functions (%.1f MB), loaded and each resolved; one of %d takes %s", growth*few, float64(len(large))/1e6, few, milliseconds(a)),
		krmcat: milliseconds(b), ratio: fmt.Sprintf("%.1f times the smaller catalog", ratio),
		target: fmt.Sprintf("≤ %.1f, linear", 1.5*growth), missed: ratio > 1.5*growth,
	}, nil
}

func loadAndResolve(ctx context.Context, data []byte) (time.Duration, error) {
	start := time.Now()
	c, err := catalog.Decode("catalog.yaml", data)
	if err != nil {
		return 0, fmt.Errorf("loading the catalog: %w", err)
	}
	for _, f := range c.Functions {
		if _, err := c.Resolve(ctx, catalog.Query{Config: f.ID}); err != nil {
			return 0, fmt.Errorf("resolving %s: %w", f.ID, err)
		}
	}
	return time.Since(start), nil
}

// generate returns a catalog of n functions with schemas.
func generate(n int) []byte {
	var b bytes.Buffer
	b.WriteString("apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata:\n  name: generated\nspec:\n  krmFunctions:\n")
	for i := range n {
		fmt.Fprintf(&b, entry, i%40, i, i, i)
	}
	return b.Bytes()
}

const entry = `  - group: team-%d.example.com
    names:
      kind: Function%d
    description: A function that was generated
    publisher: example.com
    versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              properties:
                name: {type: string, minLength: 1}
                replicas: {type: integer, minimum: 0}
                labels:
                  type: object
                  additionalProperties: {type: string}
      idempotent: true
      runtime:
        starlark:
          uri: oci://registry.example.com/fns/function-%d:v1
          sha256: %064x
      license: Apache-2.0
    tags: [mutator]
`
