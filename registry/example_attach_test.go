package registry_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry"
)

// What is attached to a manifest is found by its type, and read with it.
func ExampleClient_Attach() {
	inTempDir(func(ctx context.Context, c *registry.Client, dir string) error {
		a, err := pushScript(ctx, c, dir)
		if err != nil {
			return err
		}
		const review = "application/vnd.example.review.v1+json"
		_, err = c.Attach(ctx, a.From, a.Root, registry.Attachment{
			ArtifactType: review,
			Files:        []registry.AttachedFile{{Descriptor: ocispec.Descriptor{MediaType: review}, Data: []byte(`{"ok":true}`)}},
		})
		if err != nil {
			return err
		}
		found, err := a.Attachments(ctx, a.Root.Digest, registry.Query{ArtifactTypes: []string{"application/vnd.example.review"}})
		for _, f := range found {
			fmt.Println(f.ArtifactType, string(f.Files[0].Data))
		}
		return err
	})
	// Output: application/vnd.example.review.v1+json {"ok":true}
}

func ExamplePattern_Match() {
	var ps []registry.Pattern
	for _, s := range []string{"**", "oci://*.example.com/functions/**", "oci://eu.example.com/functions/label:v1"} {
		p, err := registry.ParsePattern(s)
		if err != nil {
			log.Fatal(err)
		}
		ps = append(ps, p)
	}
	slices.SortFunc(ps, registry.Pattern.Compare)
	l, err := registry.Parse("oci://eu.example.com/functions/label:v2")
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range ps {
		fmt.Println(p, p.Match(l))
	}
	_, err = registry.ParsePattern("oci://*/functions")
	fmt.Println(err)
	// Output:
	// oci://eu.example.com/functions/label:v1 false
	// oci://*.example.com/functions/** true
	// ** true
	// pattern "oci://*/functions": its host is any host: write its end out, or ** alone for every place
}
