package image

import (
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Error reports that an image cannot be unpacked and run: a layer is damaged, or contains
// something that is refused. Wrong digests are reported as *registry.DigestError instead.
type Error struct {
	Image string        // as the user wrote it, with its digest
	Layer digest.Digest // "" if it is not about a layer
	Entry string        // name of the entry of the layer; "" if it is not about one
	Err   error
}

// Error names the image, the layer and the entry.
func (e *Error) Error() string {
	return fmt.Sprintf("%s%v", about(e.Image, e.Layer, e.Entry), e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotHereError reports that an image is not on this machine and must not be fetched.
type NotHereError struct{ Image string } // as the user wrote it, with its digest

// Error names the image.
func (e *NotHereError) Error() string { return "image " + e.Image + ": " + NotHere }

// NotHere is the reason of a NotHereError.
const NotHere = "the image is not on this machine, and the pull policy is Never"

// ChangedError reports that a cached image was changed and must not be fetched again.
type ChangedError struct {
	Image string // as the user wrote it, with its digest
	What  string // for people: what differs
}

// Error names the image and what differs.
func (e *ChangedError) Error() string {
	return "image " + e.Image + ": it is not in the cache as it was unpacked: " + e.What + "; the pull policy is Never, and it would have to be fetched"
}

// NotComparedError reports that a cached image must be compared with its layers, which must not be
// fetched.
type NotComparedError struct {
	Image string // as the user wrote it, with its digest
	By    string // what asks for the comparison: Options.VerifyCache
}

// Error names the image and what asks for the comparison.
func (e *NotComparedError) Error() string {
	return "image " + e.Image + ": it is in the cache, and cannot be compared with its layers as " + e.By + " asks for: the pull policy is Never, and they would have to be fetched"
}

// LimitError reports that an image exceeds a limit of unpacking.
type LimitError struct {
	Image string        // as the user wrote it, with its digest
	Layer digest.Digest // "" if it is not about a layer
	Entry string        // name of the entry of the layer; "" if it is not about one
	What  string        // what is limited: "bytes unpacked", "entries", …
	Limit int64
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%smore than %d %s, which is the limit", about(e.Image, e.Layer, e.Entry), e.Limit, e.What)
}

func about(image string, layer digest.Digest, entry string) string {
	s := "image " + image + ": "
	if layer != "" {
		s += "layer " + layer.String() + ": "
	}
	if entry != "" {
		if len(entry) > 200 {
			entry = strings.ToValidUTF8(entry[:200], "") + "…"
		}
		s += fmt.Sprintf("%q: ", entry)
	}
	return s
}

// bounds are the limits of unpacking; 0 for the defaults.
type bounds struct {
	bytes     int64 // unpacked, of all layers
	entries   int64 // of all layers, with the directories that they imply
	names     int64 // bytes of all names and texts of links, which are held in memory
	path      int64 // bytes of one path
	depth     int64 // directories above an entry
	steps     int64 // elements of all paths, and of the links on them
	layers    int64
	config    int64 // bytes of the image's config
	ratio     int64 // bytes unpacked for each byte of a layer …
	ratioFrom int64 // … after this many
}

func (l *bounds) setDefaults() {
	for p, v := range map[*int64]int64{
		&l.bytes: 8 << 30, &l.entries: 500_000, &l.names: 64 << 20, &l.path: 3000, &l.depth: 100, &l.steps: 32 << 20,
		&l.layers: 512, &l.config: 4 << 20, &l.ratio: 200, &l.ratioFrom: 256 << 20,
	} {
		if *p == 0 {
			*p = v
		}
	}
}
