package kptfile

import (
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// validTag matches a whole tag of an image.
const validTag = `^[\w][\w.-]{0,127}$`

// Tag is the field tag of a function: a tag as it is, or a constraint on versions.
type Tag struct {
	Text       string
	constraint *semver.Constraints // nil for a tag as it is
}

// readTag reads a tag. A version, and a text that is no constraint, is a tag as it is.
func readTag(v yamldoc.Value) *Tag {
	t := &Tag{Text: v.Text()}
	if _, err := semver.NewVersion(t.Text); err != nil {
		if c, err := semver.NewConstraint(t.Text); err == nil {
			t.constraint = c
			return t
		}
	}
	if !regexp.MustCompile(validTag).MatchString(t.Text) {
		v.Fail("%s is neither a tag of an image nor a constraint on versions, as ~1.2 or >=1.0, <2.0", yamldoc.Quote(t.Text))
	}
	return t
}

// Exact reports whether the tag is one as it is, and not a constraint.
func (t *Tag) Exact() bool { return t.constraint == nil }

// Latest returns the highest version among the tags of an image that the constraint admits, as it
// is written; "" for none. Tags that are no versions do not count, nor do those of builds and
// signatures.
func (t *Tag) Latest(tags []string) string {
	var admitted []*semver.Version
	for _, tag := range tags {
		if strings.HasPrefix(tag, "sha256-") || strings.Contains(tag, "-git-") {
			continue
		}
		if v, err := semver.NewVersion(tag); err == nil && t.constraint != nil && t.constraint.Check(v) {
			admitted = append(admitted, v)
		}
	}
	if len(admitted) == 0 {
		return ""
	}
	return slices.MaxFunc(admitted, (*semver.Version).Compare).Original()
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
