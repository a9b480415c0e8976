package kptfile

import "strings"

// ImagePrefix is what kpt puts before the name of an image that has no slash.
const ImagePrefix = "ghcr.io/kptdev/krm-functions-catalog"

// FullImage returns the image of a function with a prefix, if its name is a short one, and with the
// tag. A tag that is a constraint is left out: see Tag.Latest. prefix is "" for none.
func (f Function) FullImage(prefix string) string {
	image := f.Image
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" && !strings.Contains(image, "/") {
		image = prefix + "/" + image
	}
	if f.Tag == nil {
		return image
	}
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	if f.Tag.Exact() {
		return image + ":" + f.Tag.Text
	}
	return image
}
