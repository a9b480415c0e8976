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

// What a pattern with wildcards may cost.
const (
	maxPattern   = 1024 // bytes
	maxWildcards = 16
)

// every is the pattern that every place matches.
const every = "**"

// Pattern is a set of places. The zero value is empty.
type Pattern struct {
	text  string
	all   bool
	wild  bool    // place.Name has wildcards
	place Locator // one spelling, as canonical gives it; Name and Tag may have wildcards
}

// ParsePattern reads a pattern. "**" alone is every place. Anything else is a place as
// Parse reads it, in which
//
//   - * stands for any characters of one segment between slashes, and in a host for those
//     of one label between dots;
//   - ** as a whole segment stands for one segment or more;
//   - a missing tag is any tag or none, and a missing digest any digest or none. A tag
//     is matched where it decides what is meant: beside a digest it is for people, and
//     whoever wrote the reference could have written another.
//
// The end of a host and its port are written out, paths of files and layouts are absolute,
// and a query is matched as it is written. A host is matched in all its spellings: with the
// port of https, with the dot behind a full name, and docker.io under its further names, where
// a NAME without a slash is library/NAME. There are at most 16 wildcards. The error is a
// *Error.
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

// String is the pattern as written.
func (p Pattern) String() string { return p.text }

// All reports whether the pattern is for every place.
func (p Pattern) All() bool { return p.all }

// Exact reports whether the pattern has no wildcard, so that Parse reads it too. As a
// pattern it may still be for several tags.
func (p Pattern) Exact() bool { return p.text != "" && !strings.Contains(p.text, "*") }

// Digest is that of the pattern, "" for none.
func (p Pattern) Digest() digest.Digest { return p.place.Digest }

// Pinned reports whether the pattern has a digest.
func (p Pattern) Pinned() bool { return p.place.Digest != "" }

// Tagged reports whether the pattern is for some tags of a place, and no digest: references by
// digest alone are not among what it matches.
func (p Pattern) Tagged() bool {
	return p.place.Tag != "" && p.place.Tag != "*" && p.place.Digest == ""
}

// Sample is a place that the pattern matches, with letters for its wildcards; of ** it is the
// zero Locator.
func (p Pattern) Sample() Locator {
	l, err := Parse(strings.ReplaceAll(strings.ReplaceAll(p.text, every, "x"), "*", "x"))
	if p.all || err != nil {
		return Locator{}
	}
	return l
}

// Led is the pattern for the same places of this machine's disk by the path that links lead to,
// and whether that is another. Only what stands before the first wildcard is looked up, by follow,
// which is filepath.EvalSymlinks or does the like.
func (p Pattern) Led(follow func(path string) (string, error)) (Pattern, bool) {
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

// MarshalText is String.
func (p Pattern) MarshalText() ([]byte, error) { return []byte(p.text), nil }

// UnmarshalText is ParsePattern.
func (p *Pattern) UnmarshalText(text []byte) error {
	parsed, err := ParsePattern(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// Compare orders patterns by how much they say, the most specific first: it is negative
// where p goes before q, and 0 only where both are the same places in whatever spelling: of
// two rules for the same place the first wins. First come those with a digest, then those
// with a tag without wildcards, then those that say more up to their first wildcard, then
// more in all, then with fewer wildcards; what is left is ordered by the letters of the place.
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

// weight is what Compare looks at, the more the more specific.
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
	// Letters in place of wildcards show whether all else is a place.
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

// checkRooted refuses local paths that depend on where they are read. Most of them are
// slips: somebody left out the scheme.
func checkRooted(s string, l Locator) error {
	if !l.Local() || filepath.IsAbs(filepath.FromSlash(l.Name)) {
		return nil
	}
	if scheme, _ := cutScheme(s); scheme == "" {
		return errors.New("it is a relative path: write a scheme such as oci:// or https:// in front, or a path from the root")
	}
	return errors.New("its path is relative: write it from the root")
}

// wildPlace takes a pattern with wildcards apart.
func wildPlace(s, scheme string) (Locator, error) {
	if len(s) > maxPattern {
		return Locator{}, fmt.Errorf("with wildcards it may have %d bytes at most", maxPattern)
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

var errStars = errors.New("** stands for whole segments, between slashes")

// wildName brings the name of a pattern into the spelling that parts splits, and refuses
// what is in a pattern by mistake.
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
		return "", errors.New("%2A stands beside wildcards")
	}
	l.Name = name
	parts, plain := l.parts()
	switch {
	case !plain:
		return "", errors.New("beside wildcards a path has no empty segments, no . and .., no backslashes, and escapes only what has to be escaped")
	case strings.Contains(parts.query, "*"):
		return "", errors.New("a query has no wildcards")
	}
	for _, seg := range parts.segs {
		if seg != every && strings.Contains(seg, every) {
			return "", errStars
		}
	}
	if l.Scheme == SchemeHTTPS {
		name = parts.root + "/" + strings.Join(parts.segs, "/") + parts.query // without escapes: they are spelling
	}
	return name, nil
}

// wildURL spells the host of a URL with wildcards as that of a place.
func wildURL(s string) string {
	scheme, rest, _ := strings.Cut(s, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		end = i
	}
	host := Locator{Scheme: SchemeHTTPS, Name: scheme + "://" + rest[:end]}
	return strings.TrimSuffix(host.canonicalName(), "/") + rest[end:]
}

// cleanHead cleans what stands before the first wildcard of a path.
func cleanHead(p string) string {
	i := strings.LastIndexByte(p[:strings.IndexByte(p, '*')], '/') + 1
	head := path.Clean(p[:i])
	if !strings.HasSuffix(head, "/") {
		head += "/"
	}
	return head + p[i:]
}

// checkWildHost refuses hosts that could be anybody's.
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
		return errors.New("its host is any host: write its end out, or ** alone for every place")
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
