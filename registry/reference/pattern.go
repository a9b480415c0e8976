package reference

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// The limits of patterns with wildcards.
const (
	maxPattern   = 1024 // bytes
	maxWildcards = 16
)

// every is the pattern that matches every place.
const every = "**"

// Pattern is a set of places. The zero value matches nothing.
type Pattern struct {
	text  string
	all   bool
	wild  bool    // place.Name has wildcards
	place Locator // in the spelling of canonical; Name and Tag may have wildcards
}

// ParsePattern reads a pattern. "**" alone matches every place. Any other pattern is a reference as
// Parse reads it, in which
//
//   - * matches any characters of one segment between slashes, and in a host those of one label
//     between dots;
//   - ** as a whole segment matches one segment or more;
//   - a missing tag matches any tag or none, and a missing digest any digest or none. A tag is
//     compared only where it selects the content. Beside a digest it does not, and the author of a
//     reference can write any tag.
//
// The end of a host and its port have no wildcards, paths of files and layouts are absolute, and a
// query is compared as written. A host is compared in all its spellings: with the port of https,
// with the trailing dot of a full name, and docker.io under its other names, where a NAME without a
// slash is library/NAME. There are at most 16 wildcards. The error is a *Error.
func ParsePattern(s string) (Pattern, error) {
	if s == every {
		return Pattern{text: s, all: true}, nil
	}
	p, err := parsePattern(s)
	if err != nil {
		return Pattern{}, &Error{Ref: redact(s), What: "pattern", Err: err}
	}
	return p, nil
}

// String returns the pattern as written.
func (p Pattern) String() string { return p.text }

// All reports whether the pattern matches every place.
func (p Pattern) All() bool { return p.all }

// Exact reports whether the pattern has no wildcard, so that Parse reads it too. As a pattern it
// may still match several tags.
func (p Pattern) Exact() bool { return p.text != "" && !strings.Contains(p.text, "*") }

// Digest returns the digest of the pattern, "" for none.
func (p Pattern) Digest() digest.Digest { return p.place.Digest }

// Pinned reports whether the pattern has a digest.
func (p Pattern) Pinned() bool { return p.place.Digest != "" }

// Tagged reports whether the pattern is for certain tags and has no digest. Such a pattern does not
// match references by digest.
func (p Pattern) Tagged() bool {
	return p.place.Tag != "" && p.place.Tag != "*" && p.place.Digest == ""
}

// Sample returns a place that the pattern matches, with letters for its wildcards. For ** it is the
// zero Locator.
func (p Pattern) Sample() Locator {
	l, err := Parse(strings.ReplaceAll(strings.ReplaceAll(p.text, every, "x"), "*", "x"))
	if p.all || err != nil {
		return Locator{}
	}
	return l
}

// FollowLinks returns the pattern for the same local places with symbolic links resolved, and
// reports whether it differs. Only the path before the first wildcard is resolved, by follow, which
// is filepath.EvalSymlinks or similar.
func (p Pattern) FollowLinks(follow func(path string) (string, error)) (Pattern, bool) {
	if p.all || !p.place.Local() {
		return p, false
	}
	head, rest := p.place.Name, ""
	if i := strings.IndexByte(head, '*'); i >= 0 {
		i = strings.LastIndexAny(head[:i], `/`+string(filepath.Separator))
		head, rest = head[:i+1], head[i+1:]
	}
	head = filepath.Clean(filepath.FromSlash(head))
	for dir, below := head, ""; ; dir, below = filepath.Dir(dir), filepath.Join(filepath.Base(dir), below) {
		real, err := follow(dir)
		switch {
		case err == nil:
			real = filepath.Join(real, below)
			p.place.Name = real
			if rest != "" {
				p.place.Name = strings.TrimSuffix(filepath.ToSlash(real), "/") + "/" + rest
			}
			return p, real != head
		case dir == filepath.Dir(dir):
			return p, false
		}
	}
}

// MarshalText returns the pattern as written.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText reads a pattern as ParsePattern does.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := ParsePattern(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// Compare orders patterns by how specific they are, the most specific first. It is negative if p is
// before q, and 0 only if both are for the same places in any spelling. Patterns with a digest come
// first, then those with a tag without wildcards, then those with more text before their first
// wildcard, then those with more text in all, then those with fewer wildcards. The rest is ordered
// by the letters of the place.
func (p Pattern) Compare(q Pattern) int {
	a, b := p.weight(), q.weight()
	for i := range a {
		if c := cmp.Compare(b[i], a[i]); c != 0 {
			return c
		}
	}
	return cmp.Or(
		strings.Compare(p.place.Scheme, q.place.Scheme), strings.Compare(p.place.Name, q.place.Name),
		strings.Compare(p.place.Tag, q.place.Tag), strings.Compare(string(p.place.Digest), string(q.place.Digest)))
}

// weight returns the numbers that Compare compares, larger for more specific patterns.
func (p Pattern) weight() [5]int {
	s := p.place.Scheme + "://" + p.place.Name
	if p.all {
		s = every
	}
	var w [5]int
	if p.place.Digest != "" {
		w[0] = 1
	}
	if p.place.Tag != "" {
		s += ":" + p.place.Tag
		if !strings.Contains(p.place.Tag, "*") {
			w[1] = 1
		}
	}
	w[4] = -strings.Count(s, "*")
	w[3] = len(s) + w[4]
	if w[2] = strings.IndexByte(s, '*'); w[2] < 0 {
		w[2] = len(s)
	}
	return w
}

func parsePattern(s string) (Pattern, error) {
	if err := checkText(s); err != nil {
		return Pattern{}, err
	}
	rest, pin, err := cutDigest(s)
	if err != nil {
		return Pattern{}, err
	}
	if err := checkWildHost(rest); err != nil {
		return Pattern{}, err
	}
	// With letters in place of wildcards, the rest has to be a valid reference.
	l, err := parsePlace(strings.ReplaceAll(rest, "*", "x"))
	if err != nil {
		return Pattern{}, err
	}
	if err := checkRooted(rest, l); err != nil {
		return Pattern{}, err
	}
	p := Pattern{text: s}
	if strings.Contains(rest, "*") {
		if l, err = wildPlace(rest, l.Scheme); err != nil {
			return Pattern{}, err
		}
		p.wild = strings.Contains(l.Name, "*")
	}
	if !p.wild {
		l.Name = l.canonicalName()
	}
	l.Digest = pin
	p.place = l
	return p, nil
}

// checkRooted refuses relative local paths, whose meaning depends on the reader. Most of them lack
// the scheme by mistake.
func checkRooted(s string, l Locator) error {
	if !l.Local() || filepath.IsAbs(filepath.FromSlash(l.Name)) {
		return nil
	}
	if scheme, _ := cutScheme(s); scheme == "" {
		return errors.New("it is a relative path: write an absolute path, or a scheme such as oci:// or https://")
	}
	return errors.New("its path is relative: write an absolute path")
}

// wildPlace parses a pattern with wildcards.
func wildPlace(s, scheme string) (Locator, error) {
	if len(s) > maxPattern {
		return Locator{}, fmt.Errorf("a pattern with wildcards may have at most %d bytes", maxPattern)
	}
	if strings.Count(strings.ReplaceAll(s, every, "*"), "*") > maxWildcards {
		return Locator{}, fmt.Errorf("it has more than %d wildcards", maxWildcards)
	}
	l := Locator{Scheme: scheme}
	written, body := cutScheme(s)
	switch scheme {
	case SchemeOCI, SchemeLayout:
		l.Name = body
		if i := tagColon(body); i >= 0 {
			l.Name, l.Tag = body[:i], body[i+1:]
		}
	case SchemeFile:
		l.Name = body
		if written == SchemeFile {
			bare, err := parseFile(body)
			if err != nil {
				return Locator{}, err
			}
			l.Name = bare.Name
		}
	default:
		l.Name = written + "://" + body
	}
	if strings.Contains(l.Tag, every) {
		return Locator{}, errStars
	}
	var err error
	if strings.Contains(l.Name, "*") {
		l.Name, err = wildName(l)
	}
	return l, err
}

var errStars = errors.New("** matches whole segments: write it between slashes")

// wildName converts the name of a pattern to the spelling that parts splits, and refuses what is
// probably a mistake.
func wildName(l Locator) (string, error) {
	name := l.Name
	switch l.Scheme {
	case SchemeOCI:
		name = l.canonicalName()
	case SchemeHTTPS:
		name = wildURL(name)
	default:
		name = cleanHead(filepath.ToSlash(name))
	}
	if strings.Contains(strings.ToLower(name), "%2a") {
		return "", errors.New("it has %2A and wildcards")
	}
	l.Name = name
	parts, plain := l.parts()
	switch {
	case !plain:
		return "", errors.New("in a pattern with wildcards, a path has no empty segments, no . and .., no backslashes, and escapes only where necessary")
	case strings.Contains(parts.query, "*"):
		return "", errors.New("its query has a wildcard: write it out")
	}
	for _, seg := range parts.segs {
		if seg != every && strings.Contains(seg, every) {
			return "", errStars
		}
	}
	if l.Scheme == SchemeHTTPS {
		name = parts.root + "/" + strings.Join(parts.segs, "/") + parts.query // without escapes
	}
	return name, nil
}

// wildURL writes the host of a URL with wildcards in its canonical spelling.
func wildURL(s string) string {
	scheme, rest, _ := strings.Cut(s, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		end = i
	}
	host := Locator{Scheme: SchemeHTTPS, Name: scheme + "://" + rest[:end]}
	return strings.TrimSuffix(host.canonicalName(), "/") + rest[end:]
}

// cleanHead cleans the path before the first wildcard.
func cleanHead(p string) string {
	i := strings.LastIndexByte(p[:strings.IndexByte(p, '*')], '/') + 1
	head := path.Clean(p[:i])
	if !strings.HasSuffix(head, "/") {
		head += "/"
	}
	return head + p[i:]
}

// checkWildHost refuses hosts whose wildcards would match hosts of any owner.
func checkWildHost(s string) error {
	scheme, rest := cutScheme(s)
	if scheme != SchemeOCI && scheme != SchemeHTTPS && scheme != "http" {
		return nil
	}
	host := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host = rest[:i]
	}
	name := strings.TrimRight(near.HostOnly(host), ".")
	switch {
	case !strings.Contains(host, "*"):
		return nil
	case strings.Trim(name, "*.") == "":
		return errors.New("its host matches any host: write out its end, or ** alone for every place")
	case strings.Contains(host[len(name):], "*"):
		return errors.New("its port has a wildcard: write it out")
	case strings.ContainsAny(name, "[]"):
		return errors.New("its host is an address with a wildcard: write it out")
	case strings.Contains(name, every):
		return errors.New("its host has **: write * for one label")
	case strings.Contains(name[strings.LastIndexByte(name, '.')+1:], "*"):
		return errors.New("its host ends in a wildcard: write the end out")
	}
	return nil
}
