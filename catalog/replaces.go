package catalog

import (
	"cmp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/registry/reference"
)

// Replaced is an image that a function replaces, in some of its versions. Decode makes it: a
// literal matches nothing.
type Replaced struct {
	Image    string   // its name, without tag and digest
	Versions string   // a range of semantic versions, "" for none
	Tags     []string // tags as they are
	Line     int      // 1-based; 0 if unknown

	place  reference.Locator
	within *semver.Constraints // nil without Versions
}

// String returns the image with its versions and tags, for people.
func (r Replaced) String() string {
	which := r.Tags
	if r.Versions != "" {
		which = append([]string{r.Versions}, r.Tags...)
	}
	return r.Image + " (" + strings.Join(which, "; ") + ")"
}

// maxRange is the maximum length of a range of versions, in bytes.
const maxRange = 256

// replaces reads the list of images that a function replaces.
func replaces(v yamldoc.Value) []Replaced {
	var out []Replaced
	for _, e := range v.Each() {
		if !mapping(e) {
			continue
		}
		e.Only("image", "versions", "tags")
		r := Replaced{Image: e.Get("image").TextOnly(), Versions: strings.TrimSpace(e.Get("versions").TextOnly()), Line: e.Line()}
		r.readImage(e.Get("image"))
		r.readVersions(e.Get("versions"))
		r.readTags(e.Get("tags"))
		if r.Versions == "" && len(r.Tags) == 0 && !e.Get("versions").Misspelt() && !e.Get("tags").Misspelt() {
			e.Fail("it has neither versions nor tags: which versions of the image are replaced?")
		}
		out = append(out, r)
	}
	return out
}

func (r *Replaced) readImage(v yamldoc.Value) {
	v.Need()
	if r.Image == "" {
		return
	}
	place, err := reference.ParseImage(r.Image)
	switch {
	case err != nil:
		v.Fail("%v", err)
	case place.Digest != "":
		v.Fail("an image that is pinned by its digest is never replaced: write its name, and its versions")
	case place.Tag != "":
		v.Fail("the name of an image without a tag is expected: tags are in tags, or in the range of versions")
	default:
		r.place = place
	}
}

func (r *Replaced) readVersions(v yamldoc.Value) {
	if !v.Present() {
		return
	}
	if r.Versions == "" {
		v.Need()
		return
	}
	within, err := semver.NewConstraint(r.Versions)
	if err != nil || len(r.Versions) > maxRange {
		v.Fail("%s is not a range of versions, such as >=0.2.0 <0.5.0", yamldoc.Quote(r.Versions))
		return
	}
	r.within = within
}

func (r *Replaced) readTags(v yamldoc.Value) {
	for _, e := range v.Each() {
		tag := e.TextOnly()
		l, err := reference.ParseImage("x:" + tag)
		if e.Need(); tag != "" && (err != nil || l.Tag != tag || l.Digest != "") {
			e.Fail("%s is not a tag of an image", yamldoc.Quote(tag))
		}
		r.Tags = append(r.Tags, tag)
	}
}

// matches reports whether an image is one of these. A range contains whole versions only: a tag
// such as v0.4 may move, so it has to be listed. An image without a tag has the default tag.
func (r Replaced) matches(image reference.Locator) bool {
	tag := cmp.Or(image.Tag, reference.DefaultTag)
	image.Tag = ""
	if image.Digest != "" || r.place.Scheme == "" || !r.place.Same(image) {
		return false
	}
	if slices.Contains(r.Tags, tag) {
		return true
	}
	version, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
	return err == nil && r.within != nil && r.within.Check(version)
}

// byImage finds the first function that replaces an image. One for the type of the functionConfig
// is preferred, since a function may have an entry for each.
func (c *Catalog) byImage(q Query) (Function, error) {
	image, err := reference.ParseImage(q.Image)
	if err != nil {
		return Function{}, err
	}
	var first *Function
	for i := range c.Functions {
		f := &c.Functions[i]
		if !slices.ContainsFunc(f.Replaces, func(r Replaced) bool { return r.matches(image) }) {
			continue
		}
		if f.ID == q.Config {
			return *f, nil
		}
		if first == nil {
			first = f
		}
	}
	if first == nil {
		return Function{}, c.missing(q, nil)
	}
	return *first, nil
}
