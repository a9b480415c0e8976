package registry

import (
	"context"
	"errors"
	"time"

	"github.com/krmcat/krmcat/registry/internal/manifest"
)

// Limits of the tags that are read. They are only a hint.
const (
	maxTagsRead = 10_000
	tagsTimeout = 5 * time.Second
)

// tagLister is a target that lists its tags, such as a registry.
type tagLister interface {
	Tags(ctx context.Context, last string, page func(tags []string) error) error
}

// errEnough ends the list of tags.
var errEnough = errors.New("there are enough tags")

// withTags adds the tags that exist to the error of one that does not. If the registry does not
// list them, the error stays as it is.
func (p *place) withTags(ctx context.Context, err error) error {
	var missing *NotFoundError
	target, ok := p.target.(tagLister)
	if !ok || p.loc.Digest != "" || !errors.As(err, &missing) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tagsTimeout)
	defer cancel()
	var tags []string
	unlisted := target.Tags(ctx, "", func(page []string) error {
		if tags = append(tags, page...); len(tags) > maxTagsRead {
			return errEnough
		}
		return nil
	})
	missing.Have = manifest.ShownTags(tags)
	if len(tags) == 0 && (unlisted == nil || errors.As(classify(p.ref, unlisted), new(*NotFoundError))) && p.loc.Tag != "" {
		missing.Reason = "there is no repository of this name, or it has no tags"
	}
	return err
}
