package catalog_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/krmcat/krmcat/catalog"
)

const example = `apiVersion: config.kubernetes.io/v1alpha1
kind: Catalog
metadata: {name: example-co-functions}
spec:
  krmFunctions:
  - group: example.com
    names: {kind: JavaApplication}
    versions: [{name: v1}, {name: v1beta1}]
    runtime:
      starlark: oci://example.com/java:v1.0.0
`

func ExampleDecode() {
	c, err := catalog.Decode("catalog.yaml", []byte(example))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Name, len(c.Functions))

	_, err = catalog.Decode("catalog.yaml", []byte("apiVersion: v1\nkind: Catalog\n"))
	fmt.Println(err)
	// Output:
	// example-co-functions 2
	// catalog.yaml:1: apiVersion: must be config.kubernetes.io/v1alpha1, not "v1"
}

func ExampleCatalog_Resolve() {
	c, err := catalog.Decode("catalog.yaml", []byte(example))
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := c.Resolve(context.Background(), catalog.Query{Config: catalog.IDOf("example.com/v1", "JavaApplication")})
	fmt.Println(f.Runtimes[0].Kind, f.Runtimes[0].Spec.YNode().Value, err)

	_, err = c.Resolve(context.Background(), catalog.Query{Config: catalog.IDOf("example.com/v2", "JavaApplication")})
	fmt.Println(err)
	// Output:
	// starlark oci://example.com/java:v1.0.0 <nil>
	// no catalog has the function example.com/v2/JavaApplication, searched catalog.yaml; it exists in version v1, v1beta1
}

func ExampleCatalog_Groups() {
	c, err := catalog.Decode("catalog.yaml", []byte(example))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range c.Groups() {
		fmt.Println(g.Group, g.Kind, len(g.Versions))
	}
	// Output: example.com JavaApplication 2
}

func ExampleChain() {
	c, err := catalog.Decode("catalog.yaml", []byte(example))
	if err != nil {
		fmt.Println(err)
		return
	}
	second := catalog.Lazy(func(context.Context) (*catalog.Catalog, error) {
		return nil, fmt.Errorf("nothing needs this one")
	})
	f, err := catalog.Chain(c, second).Resolve(context.Background(), catalog.Query{Config: catalog.IDOf("example.com/v1", "JavaApplication")})
	fmt.Println(f.ID, err)
	// Output: example.com/v1/JavaApplication <nil>
}

func ExampleLazy() {
	r := catalog.Lazy(func(context.Context) (*catalog.Catalog, error) {
		fmt.Println("loading")
		return catalog.Decode("catalog.yaml", []byte(example))
	})
	for _, version := range []string{"v1", "v1beta1"} {
		f, err := r.Resolve(context.Background(), catalog.Query{Config: catalog.IDOf("example.com/"+version, "JavaApplication")})
		fmt.Println(f.ID, err)
	}
	// Output:
	// loading
	// example.com/v1/JavaApplication <nil>
	// example.com/v1beta1/JavaApplication <nil>
}

func ExampleRewrite() {
	out, err := catalog.Rewrite([]byte(example), func(rt *catalog.Runtime, _ catalog.FunctionID) error {
		rt.Spec.YNode().Value += "@sha256:…"
		return nil
	})
	_, pinned, _ := strings.Cut(string(out), "runtime:\n")
	fmt.Println(strings.TrimSpace(pinned), err)
	// Output:
	// starlark: oci://example.com/java:v1.0.0@sha256:… <nil>
}

func ExampleLint() {
	for _, f := range catalog.Lint("catalog.yaml", []byte(example))[:2] {
		fmt.Println(f.Line, f.Severity, f.Message)
	}
	// Output:
	// 6 warning description is missing
	// 6 warning publisher is missing
}
