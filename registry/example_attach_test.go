package registry_test

import (
	"context"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/registry"
)

// Attachments of a manifest are found by their artifact type and read with it.
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
