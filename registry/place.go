package registry

import (
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	orasregistry "oras.land/oras-go/v2/registry"
)

// defaultTag is what a registry is asked for where no tag is written.
const defaultTag = "latest"

// Local reports whether the place is on this machine's disk.
func (l Locator) Local() bool { return l.Scheme == SchemeFile || l.Scheme == SchemeLayout }

// At makes a relative local place absolute against dir; others are returned as
// they are.
func (l Locator) At(dir string) Locator {
	if !l.Local() || filepath.IsAbs(l.Name) {
		return l
	}
	l.Name = filepath.Join(dir, filepath.FromSlash(l.Name))
	return l
}

// Dir is the directory that paths written in the content of a local place are
// relative to: the one that holds the file, or that holds the layout directory.
// It is "" for a place that is not local.
func (l Locator) Dir() string {
	if !l.Local() {
		return ""
	}
	return filepath.Dir(filepath.Clean(filepath.FromSlash(l.Name)))
}

// Same reports whether two locators name one place, whatever digests they are pinned
// to. Local places are compared as written: the caller makes them absolute first. A
// missing tag is the default one unless a digest stands in for it.
func (l Locator) Same(other Locator) bool {
	return l.Scheme == other.Scheme && l.normalName() == other.normalName() && sameTag(l, other)
}

func sameTag(a, b Locator) bool {
	if a.Tag == b.Tag {
		return true
	}
	return a.normalTag() == b.normalTag()
}

func (l Locator) normalTag() string {
	if l.Tag == "" && l.Digest == "" && l.Scheme == SchemeOCI {
		return defaultTag
	}
	return l.Tag
}

func (l Locator) normalName() string {
	switch l.Scheme {
	case SchemeFile, SchemeLayout:
		return filepath.Clean(filepath.FromSlash(l.Name))
	case SchemeOCI:
		host, repo, _ := strings.Cut(l.Name, "/")
		return strings.ToLower(host) + "/" + repo
	case SchemeHTTPS:
		u, err := url.Parse(l.Name)
		if err != nil {
			return l.Name
		}
		u.Host = strings.ToLower(u.Host)
		if u.Scheme == "https" {
			u.Host = strings.TrimSuffix(u.Host, ":443")
		}
		return u.String()
	}
	return l.Name
}

// ParseImage reads the name of a container image as docker does: the first part is a
// registry where it has a dot, a colon or is localhost, else docker.io; a single name
// there is in library/. The error is a *ReferenceError.
func ParseImage(s string) (Locator, error) {
	l, err := parseImage(s)
	if err != nil {
		return Locator{}, &ReferenceError{Ref: redact(s), Err: err}
	}
	return l, nil
}

func parseImage(s string) (Locator, error) {
	if err := checkText(s); err != nil {
		return Locator{}, err
	}
	rest, pin, err := cutDigest(s)
	if err != nil {
		return Locator{}, err
	}
	l, err := parseOCI(withRegistry(rest))
	if err != nil {
		return Locator{}, errors.New("it is not the name of a container image: [registry/]name[:tag][@sha256:…], the name in lower case")
	}
	l.Digest = pin
	return l, nil
}

func withRegistry(name string) string {
	first, rest, found := strings.Cut(name, "/")
	switch {
	case !found:
		return "docker.io/library/" + name
	case first == "docker.io" || first == "index.docker.io":
		if !strings.Contains(rest, "/") {
			rest = "library/" + rest
		}
		return "docker.io/" + rest
	case strings.ContainsAny(first, ".:") || first == "localhost":
		return name
	}
	return "docker.io/" + name
}

// reference is what the registry client calls the place.
func (l Locator) reference() (orasregistry.Reference, error) {
	ref, err := orasregistry.ParseReference(l.Name)
	if err != nil {
		return ref, &ReferenceError{Ref: redact(l.String()), Err: errors.New("it is not host/repository")}
	}
	return ref, nil
}

// WithDigest is the locator pinned to a digest, "" for none.
func (l Locator) WithDigest(d digest.Digest) Locator {
	l.Digest = d
	return l
}
