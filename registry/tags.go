package registry

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/krmcat/krmcat/registry/reference"
)

var attachedTag = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant that is compiled when needed
	return regexp.MustCompile(`^sha256-[0-9a-f]{64}(\..+)?$`)
})

const (
	maxTags     = 20              // of an error
	tagsTimeout = 5 * time.Second // they are only a hint
)

// tagLister is a target that lists its tags, such as a registry.
type tagLister interface {
	Tags(ctx context.Context, last string, page func(tags []string) error) error
}

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
		tags = append(tags, page...)
		return nil
	})
	missing.Have = shownTags(tags)
	if len(tags) == 0 && (unlisted == nil || errors.As(classify(p.ref, unlisted), new(*NotFoundError))) && p.loc.Tag != "" {
		missing.Reason = "there is no repository of this name, or it has no tags"
	}
	return err
}

// shownTags returns the tags that an error has: the last ones, without those of signatures.
func shownTags(tags []string) []string {
	var shown []string
	for _, tag := range tags {
		if tag != "" && !attachedTag().MatchString(tag) {
			shown = append(shown, reference.Clean(tag))
		}
	}
	slices.Sort(shown)
	if more := len(shown) - maxTags; more > 0 {
		return append([]string{"…"}, shown[more:]...)
	}
	return shown
}
