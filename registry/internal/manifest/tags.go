package manifest

import (
	"regexp"
	"slices"
	"sync"

	"github.com/krmcat/krmcat/registry/reference"
)

var attachedTag = sync.OnceValue(func() *regexp.Regexp { //nolint:gochecknoglobals // a constant that is compiled when needed
	return regexp.MustCompile(`^sha256-[0-9a-f]{64}(\..+)?$`)
})

// IsAttachedTag reports whether a tag is that of an attachment, such as a signature.
func IsAttachedTag(tag string) bool { return attachedTag().MatchString(tag) }

// maxShown is the number of tags that an error has.
const maxShown = 20

// ShownTags returns the tags that an error has: the last ones, without those of attachments.
func ShownTags(tags []string) []string {
	var shown []string
	for _, tag := range tags {
		if tag != "" && !IsAttachedTag(tag) {
			shown = append(shown, reference.Clean(tag))
		}
	}
	slices.Sort(shown)
	if more := len(shown) - maxShown; more > 0 {
		return append([]string{"…"}, shown[more:]...)
	}
	return shown
}
