package registry_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
)

func ExampleLiteral() {
	from, err := reference.Parse("./kustomization.yaml")
	if err != nil {
		log.Fatal(err)
	}
	a := registry.Literal(from, mediatypes.RoleStarlark, "inline.star", []byte("print('hello')"))
	data, err := a.ReadFile(context.Background(), 0)
	fmt.Println(string(data), err)
	// Output: print('hello') <nil>
}

// A bundle is packed and tagged twice; the same bundle always has the same digest.
func ExampleClient_Push() {
	inTempDir(func(ctx context.Context, c *registry.Client, dir string) error {
		pushed, err := pushScript(ctx, c, dir)
		fmt.Printf("%s %.10s %v\n", pushed.Role, pushed.Root.Digest, err)
		return err
	})
	// Output: starlark sha256:dce <nil>
}

// A tag is resolved once. The result is pinned and read by digest.
func ExampleClient_Resolve() {
	inTempDir(func(ctx context.Context, c *registry.Client, dir string) error {
		pushed, err := pushScript(ctx, c, dir)
		if err != nil {
			return err
		}
		found, err := c.Resolve(ctx, pushed.From, registry.Want{Role: mediatypes.RoleStarlark})
		if err != nil {
			return err
		}
		data, err := found.ReadFile(ctx, 0)
		fmt.Printf("%s holds %s %v\n", registry.Title(found.Files[0]), data, err)
		return err
	})
	// Output: main.star holds print('hello') <nil>
}

func ExampleClient_Pull() {
	inTempDir(func(ctx context.Context, c *registry.Client, dir string) error {
		pushed, err := pushScript(ctx, c, dir)
		if err != nil {
			return err
		}
		paths, err := c.Pull(ctx, pushed, filepath.Join(dir, "out"))
		if err != nil {
			return err
		}
		data, err := os.ReadFile(paths[0])
		fmt.Printf("%s: %s\n", filepath.Base(paths[0]), data)
		return err
	})
	// Output: main.star: print('hello')
}

func pushScript(ctx context.Context, c *registry.Client, dir string) (registry.Artifact, error) {
	l, err := reference.Parse("oci-layout://" + filepath.Join(dir, "layout") + ":v1")
	if err != nil {
		return registry.Artifact{}, err
	}
	return c.Push(ctx, l, registry.Bundle{
		Role:  mediatypes.RoleStarlark,
		Files: []registry.File{{Title: "main.star", Data: []byte("print('hello')")}},
	}, "latest")
}

func inTempDir(example func(ctx context.Context, c *registry.Client, dir string) error) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	c, err := registry.New(registry.Options{CacheDir: filepath.Join(dir, "cache")})
	if err == nil {
		err = example(context.Background(), c, dir)
	}
	if err != nil {
		fmt.Println(err)
	}
}
