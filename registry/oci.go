package registry

import (
	"context"
	"errors"

	orasregistry "oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/reference"
)

// repository returns the client of one repository. It is created once, because it caches tokens.
func (c *Client) repository(ctx context.Context, l reference.Locator) (*remote.Repository, error) {
	ref, err := referenceOf(l)
	if err != nil {
		return nil, err
	}
	plain := c.servers.PlainHTTP(ctx, ref.Registry)
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.repos[l.Name]; ok {
		return r, nil
	}
	r := &remote.Repository{
		Client:             c.servers.Repository(ref),
		Reference:          ref,
		PlainHTTP:          plain,
		ManifestMediaTypes: manifest.Types(),
		MaxMetadataBytes:   c.opts.Limits.Manifest,
		TagListMaxPages:    1,
		SkipReferrersGC:    true, // permission to push does not imply permission to delete
	}
	c.repos[l.Name] = r
	return r, nil
}

// referenceOf converts the place to a reference of oras-go.
func referenceOf(l reference.Locator) (orasregistry.Reference, error) {
	ref, err := orasregistry.ParseReference(l.Name)
	if err != nil {
		return ref, reference.Refuse(l.String(), errors.New("it is not host/repository"))
	}
	return ref, nil
}
