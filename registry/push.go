package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/layout"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/reference"
)

// parallelUploads is the number of blobs uploaded at a time.
const parallelUploads = 4

// Push packs a bundle and pushes it to an oci:// or oci-layout:// reference, with the tag of the
// reference and the given tags. Without tags it can only be read by digest. Pushing the same bundle
// again changes nothing and gives the same digest. Tags are set last, so an interruption leaves the
// old ones. A pinned reference must have the digest of the packed bundle.
//
// The returned Artifact has the root's digest. For an index it has the platforms and no Files.
//
// Errors: *reference.Error, *TitleError, *TooLargeError, *DigestError, *UnreachableError,
// *NotFoundError (the registry does not create the repository).
func (c *Client) Push(ctx context.Context, l reference.Locator, b Bundle, tags ...string) (Artifact, error) {
	p, err := c.pack(l, b)
	if err != nil {
		return Artifact{}, err
	}
	if tags, err = allTags(l, tags); err != nil {
		return Artifact{}, err
	}
	switch l.Scheme {
	case reference.SchemeOCI:
		err = c.pushOCI(ctx, l, p, tags)
	case reference.SchemeLayout:
		err = layout.Write(l.Normal().Name, l.Display()).Push(ctx, p, tags)
	default:
		err = &reference.Error{Ref: l.Display(), Err: errors.New("krmcat cannot push there: use oci:// or oci-layout://")}
	}
	if err != nil {
		return Artifact{}, err
	}
	a, err := artifactOf(p, l, b.Role)
	if err != nil {
		return Artifact{}, err
	}
	at, err := c.open(ctx, l, Want{Role: b.Role})
	a.store = inMemory{at, p.Blobs}
	return a, err
}

// Pack returns what Push would return for a bundle, without its content and without any request.
// The errors are those of Push that need no request.
func (c *Client) Pack(l reference.Locator, b Bundle) (Artifact, error) {
	p, err := c.pack(l, b)
	if err != nil {
		return Artifact{}, err
	}
	return artifactOf(p, l, b.Role)
}

func (c *Client) pack(l reference.Locator, b Bundle) (manifest.Packed, error) {
	p, err := pack(l.Display(), b)
	if err == nil {
		err = c.checkPush(l, p, b.Role)
	}
	return p, err
}

// checkPush refuses what Resolve and Read would refuse.
func (c *Client) checkPush(l reference.Locator, p manifest.Packed, r mediatypes.Role) error {
	ref, limit := l.Display(), c.opts.Limits.of(r)
	for _, m := range p.Manifests {
		if m.Desc.Size > c.opts.Limits.Manifest {
			return &TooLargeError{Ref: ref, What: "manifest", Size: m.Desc.Size, Limit: c.opts.Limits.Manifest}
		}
	}
	for _, b := range p.Blobs {
		if b.Desc.Size > limit {
			return &TooLargeError{Ref: ref, What: "file", Size: b.Desc.Size, Limit: limit}
		}
	}
	if l.Digest != "" && l.Digest != p.Root.Digest {
		return &DigestError{Ref: ref, Want: l.Digest, Got: p.Root.Digest, Err: errors.New("the reference is pinned to other content")}
	}
	return nil
}

func allTags(l reference.Locator, more []string) ([]string, error) {
	var tags []string
	seen := map[string]bool{"": true}
	for _, t := range append([]string{l.Tag}, more...) {
		if t != "" && !reference.IsTag(t) {
			return nil, reference.Refuse(l.String(), fmt.Errorf("%q is not a tag", t))
		}
		if !seen[t] {
			seen[t] = true
			tags = append(tags, t)
		}
	}
	return tags, nil
}

func (c *Client) pushOCI(ctx context.Context, l reference.Locator, p manifest.Packed, tags []string) error {
	up, err := c.upload(ctx, l)
	if err != nil {
		return err
	}
	if err := up.blobs(ctx, p); err != nil {
		return err
	}
	return up.manifests(ctx, p, tags)
}

// upload pushes packed content to a repository: blobs first, then manifests, tags last.
type upload struct {
	repo *remote.Repository
	ref  string // for errors
}

func (c *Client) upload(ctx context.Context, l reference.Locator) (upload, error) {
	repo, err := c.repository(ctx, l)
	return upload{repo, l.Display()}, err
}

func (u upload) blobs(ctx context.Context, p manifest.Packed) error {
	g, up := errgroup.WithContext(ctx)
	g.SetLimit(parallelUploads)
	done := map[digest.Digest]bool{}
	for _, b := range p.Blobs {
		if !done[b.Desc.Digest] {
			done[b.Desc.Digest] = true
			g.Go(func() error { return pushBlob(up, u.repo, b) })
		}
	}
	if err := g.Wait(); err != nil {
		return classify(u.ref, fmt.Errorf("pushing: %w", err))
	}
	return nil
}

func (u upload) manifests(ctx context.Context, p manifest.Packed, tags []string) error {
	last := len(p.Manifests) - 1
	for i, m := range p.Manifests {
		if i == last && len(tags) > 0 {
			break // pushing the tags pushes it
		}
		if err := u.repo.Manifests().Push(ctx, m.Desc, bytes.NewReader(m.Data)); err != nil {
			return classify(u.ref, fmt.Errorf("pushing a manifest: %w", err))
		}
	}
	root := p.Manifests[last]
	for _, t := range tags {
		if err := u.repo.Manifests().PushReference(ctx, root.Desc, bytes.NewReader(root.Data), t); err != nil {
			return classify(u.ref, fmt.Errorf("setting tag %s: %w", t, err))
		}
	}
	return nil
}

func pushBlob(ctx context.Context, repo *remote.Repository, b manifest.Blob) error {
	there, err := repo.Blobs().Exists(ctx, b.Desc)
	if err != nil || there {
		return err
	}
	return repo.Blobs().Push(ctx, b.Desc, bytes.NewReader(b.Data))
}

// inMemory reads the blobs of a bundle that was just pushed.
type inMemory struct {
	at    *place
	blobs []manifest.Blob
}

func (s inMemory) home() *place { return s.at }

func (s inMemory) read(_ context.Context, d ocispec.Descriptor) ([]byte, error) {
	for _, b := range s.blobs {
		if b.Desc.Digest == d.Digest {
			return b.Data, manifest.Check(s.at.ref, d.Digest, b.Data)
		}
	}
	return nil, &NotFoundError{Ref: s.at.ref, Digest: d.Digest}
}

func (s inMemory) open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	data, err := s.read(ctx, d)
	return io.NopCloser(bytes.NewReader(data)), err
}
