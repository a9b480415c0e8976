package reference

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
)

// DefaultTag is what a registry is asked for where no tag is written.
const DefaultTag = "latest"

// Local reports whether the place is on this machine's disk.
func (l Locator) Local() bool { return l.Scheme == SchemeFile || l.Scheme == SchemeLayout }

// At makes a local place absolute, a relative one against dir; others are returned as they
// are. Paths are cleaned here, once: what is compared with what the user trusts is what is
// opened, also where link/.. would lead elsewhere.
func (l Locator) At(dir string) Locator {
	if !l.Local() {
		return l
	}
	l.Name = filepath.FromSlash(l.Name)
	if filepath.IsAbs(l.Name) {
		l.Name = filepath.Clean(l.Name)
		return l
	}
	l.Name = filepath.Join(dir, l.Name)
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
// to, and in whatever spelling: the host may have the port of https or the dot of a full
// name written out, and docker.io has further names. Local places are compared as written:
// the caller makes them absolute first. A missing tag is the default one unless a digest
// stands in for it.
func (l Locator) Same(other Locator) bool {
	a, b := l.canonical(), other.canonical()
	return a.Scheme == b.Scheme && a.Name == b.Name && (a.Tag == b.Tag || l.Tag == other.Tag)
}

// Normal is the one spelling of a place that has several, to be used as a key: hosts are
// in lower case, paths are cleaned, and the default tag is filled in where a registry has
// neither tag nor digest to go by. The digest stays. Local places are made absolute first,
// by At. Places with one key get the same answer, so two spellings that are asked with other
// logins or at other servers, as docker.io's names are, have two: Same knows that they are one.
func (l Locator) Normal() Locator {
	if l.Tag == "" && l.Digest == "" && l.Scheme == SchemeOCI {
		l.Tag = DefaultTag
	}
	l.Name = l.normalName()
	return l
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
		port := ":443"
		if u.Scheme == "http" {
			port = ":80"
		}
		u.Host = strings.TrimSuffix(strings.TrimSuffix(u.Host, port), ":")
		if u.Path == "" {
			u.Path = "/"
		}
		return u.String()
	}
	return l.Name
}

// ParseImage reads the name of a container image as docker does: the first part is a
// registry where it has a dot, a colon or is localhost, else docker.io; a single name
// there is in library/. The error is a *Error.
func ParseImage(s string) (Locator, error) {
	l, err := parseImage(s)
	if err != nil {
		return Locator{}, &Error{Ref: redact(s), Err: err}
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
	if strings.HasPrefix(strings.ToLower(rest), SchemeOCI+"://") {
		return Locator{}, fmt.Errorf("the name of a container image is written without %s:// before it", SchemeOCI)
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

// WithDigest is the locator pinned to a digest, "" for none.
func (l Locator) WithDigest(d digest.Digest) Locator {
	l.Digest = d
	return l
}
