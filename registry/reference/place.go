package reference

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
)

// DefaultTag is the tag of a reference to a registry with neither tag nor digest.
const DefaultTag = "latest"

// Local reports whether the place is on this machine's disk.
func (l Locator) Local() bool { return l.Scheme == SchemeFile || l.Scheme == SchemeLayout }

// At makes a local place absolute, a relative one against dir. Other places are returned as they
// are. The path is cleaned here, once, so that the path that is compared with what the user trusts
// is the one that is opened, also where link/.. would lead elsewhere.
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

// Dir returns the directory that paths in the content of a local place are relative to: the one
// that contains the file or the layout directory. It is "" for a place that is not local.
func (l Locator) Dir() string {
	if !l.Local() {
		return ""
	}
	return filepath.Dir(filepath.Clean(filepath.FromSlash(l.Name)))
}

// Same reports whether two references name one place, whatever their digests and spellings: the
// host may have the port of https or a trailing dot, and docker.io has other names. Local places
// are compared as written, so the caller makes them absolute first. A missing tag is the default
// tag, unless there is a digest.
func (l Locator) Same(other Locator) bool {
	a, b := l.canonical(), other.canonical()
	return a.Scheme == b.Scheme && a.Name == b.Name && (a.Tag == b.Tag || l.Tag == other.Tag)
}

// Normal returns a spelling of the place that can be used as a key: hosts in lower case, paths
// cleaned, and the default tag where a registry has neither tag nor digest. The digest stays. Local
// places must be absolute (see At). Places with one key get the same response. So spellings that
// are requested with different credentials or from different servers, such as the names of
// docker.io, have different keys, although Same reports them as one place.
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

// ParseImage reads the name of a container image as docker does: the first part is a registry if it
// contains a dot or a colon or is localhost, else the registry is docker.io. A name of one part is
// in library/ there. The error is a *Error.
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
		return Locator{}, fmt.Errorf("the name of a container image is written without %s://", SchemeOCI)
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

// WithDigest returns the reference pinned to a digest, "" for none.
func (l Locator) WithDigest(d digest.Digest) Locator {
	l.Digest = d
	return l
}
