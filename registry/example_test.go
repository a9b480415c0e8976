package registry_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

func ExampleParse() {
	l, err := registry.Parse("oci://registry.example.com/team/catalog:v1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Scheme, l.Name, l.Tag)
	_, err = registry.Parse("git::https://example.com/catalog")
	fmt.Println(err)
	// Output:
	// oci registry.example.com/team/catalog v1
	// reference "git::https://example.com/catalog": git is not supported yet
}

func ExampleParseImage() {
	l, err := registry.ParseImage("alpine:3")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l)
	// Output: oci://docker.io/library/alpine:3
}

func ExampleLocator_At() {
	l, err := registry.Parse("oci-layout://./catalogs:v1")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(filepath.ToSlash(l.At("base").String()), filepath.ToSlash(l.At("base").Dir()))
	// Output: oci-layout://base/catalogs:v1 base
}

func ExampleLocator_Same() {
	declared, err := registry.Parse("oci://registry.example.com/catalog")
	if err != nil {
		log.Fatal(err)
	}
	trusted, err := registry.Parse("oci://Registry.example.com/catalog:latest")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(declared.Same(trusted))
	// Output: true
}

func ExampleLiteral() {
	from, err := registry.Parse("./kustomization.yaml")
	if err != nil {
		log.Fatal(err)
	}
	a := registry.Literal(from, mediatypes.RoleStarlark, "inline.star", []byte("print('hello')"))
	data, err := a.ReadFile(context.Background(), 0)
	fmt.Println(string(data), err)
	// Output: print('hello') <nil>
}

// A script goes into an OCI layout, is found again by its tag and written to disk.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := roundTripExample(dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// pushed starlark sha256:dce
	// found print('hello') in main.star
	// pulled main.star
}

func roundTripExample(dir string) error {
	ctx := context.Background()
	c, err := registry.New(registry.Options{CacheDir: filepath.Join(dir, "cache")})
	if err != nil {
		return err
	}
	l, err := registry.Parse("oci-layout://" + filepath.Join(dir, "layout") + ":v1")
	if err != nil {
		return err
	}
	pushed, err := c.Push(ctx, l, registry.Bundle{
		Role:  mediatypes.RoleStarlark,
		Files: []registry.File{{Title: "main.star", Data: []byte("print('hello')")}},
	}, "latest")
	if err != nil {
		return err
	}
	fmt.Printf("pushed %s %.10s\n", pushed.Role, pushed.Root.Digest)
	found, err := c.Resolve(ctx, l, registry.Want{Role: mediatypes.RoleStarlark})
	if err != nil {
		return err
	}
	data, err := found.ReadFile(ctx, 0)
	if err != nil {
		return err
	}
	fmt.Printf("found %s in %s\n", data, registry.Title(found.Files[0]))
	paths, err := c.Pull(ctx, found, filepath.Join(dir, "out"))
	if err != nil {
		return err
	}
	fmt.Println("pulled", filepath.Base(paths[0]))
	return nil
}
