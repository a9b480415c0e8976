package image

import (
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
)

// Error says that an image is not one that can be unpacked and run: a layer is
// damaged, or asks for what is refused. It is never about whether the bytes are those that
// were asked for, which is a *registry.DigestError.
type Error struct {
	Image string        // as a person wrote it, with its digest
	Layer digest.Digest // "" where it is not about a layer
	Entry string        // name of an entry of the layer, "" where it is not about one
	Err   error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s%v", about(e.Image, e.Layer, e.Entry), e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// NotHereError says that an image is not on this machine, and that none is fetched.
type NotHereError struct{ Image string } // as a person wrote it, with its digest

func (e *NotHereError) Error() string { return "image " + e.Image + ": " + NotHere }

// NotHere is why an image that is not here is not run.
const NotHere = "the image is not on this machine, and the pull policy is Never"

// ChangedError says that an image in the cache is not what was unpacked, and that nothing is
// fetched to unpack it anew.
type ChangedError struct {
	Image string // as a person wrote it, with its digest
	What  string // for people: what is otherwise
}

func (e *ChangedError) Error() string {
	return "image " + e.Image + ": it is not in the cache as it was unpacked: " + e.What + "; the pull policy is Never, and it would have to be fetched"
}

// NotComparedError says that an image in the cache is to be compared with its layers, and that
// nothing is fetched.
type NotComparedError struct {
	Image string // as a person wrote it, with its digest
	By    string // who wants it compared: Options.VerifyCache
}

func (e *NotComparedError) Error() string {
	return "image " + e.Image + ": it is in the cache, and cannot be compared with its layers as " + e.By + " asks for: the pull policy is Never, and they would have to be fetched"
}

// LimitError says that an image holds more than krmcat unpacks.
type LimitError struct {
	Image string        // as a person wrote it, with its digest
	Layer digest.Digest // "" where it is not about a layer
	Entry string        // name of an entry of the layer, "" where it is not about one
	What  string        // "bytes unpacked", "entries", …
	Limit int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%smore than %d %s, which is as much as is unpacked", about(e.Image, e.Layer, e.Entry), e.Limit, e.What)
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

// bounds bound what is unpacked. 0 stands for the default.
type bounds struct {
	bytes     int64 // of all layers, unpacked
	entries   int64 // of all layers, and directories that they imply
	names     int64 // bytes of all names and of all texts of links: they are held in memory
	path      int64 // bytes of one path
	depth     int64 // directories above an entry
	steps     int64 // parts of all paths, those of the links on them among them
	layers    int64
	config    int64 // bytes of the image's config
	ratio     int64 // bytes unpacked for each byte of a layer …
	ratioFrom int64 // … once there are so many
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
