package reference

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// Match reports whether a place is in the set, in any spelling that Same treats as equal. Local
// places must be absolute (see At). Wildcards match only plain spellings: no path with an empty
// segment, . or .., a backslash or an unnecessary escape, and no URL with credentials or with a
// query that the pattern does not have.
func (p Pattern) Match(l Locator) bool {
	if p.all {
		return true
	}
	n := l.canonical()
	switch {
	case p.text == "" || p.place.Scheme != n.Scheme:
		return false
	case p.place.Digest != "" && p.place.Digest != n.Digest:
		return false
	case p.place.Tag != "" && (n.Tag == "" || !matchText(p.place.Tag, n.Tag)):
		return false
	case p.place.Tag != "" && p.place.Tag != "*" && n.Digest != "" && p.place.Digest == "":
		return false // beside a digest, the author of the reference can write any tag
	case !p.wild:
		return p.place.Name == n.Name
	}
	want, _ := p.place.parts()
	got, plain := n.parts()
	return plain && want.query == got.query && p.matchHost(want.root, got.root) && matchSegments(want.segs, got.segs)
}

// parts are the components of the Name of a place or of a pattern.
type parts struct {
	root  string // host[:port], with http:// or https:// for a URL; / or a volume for a path
	segs  []string
	query string // with its question mark
}

// parts splits a normalised name, and reports whether its spelling is plain.
func (l Locator) parts() (parts, bool) {
	switch l.Scheme {
	case SchemeOCI:
		host, repo, _ := strings.Cut(l.Name, "/")
		p := parts{root: host, segs: strings.Split(repo, "/")}
		return p, plainHost(host) && plainSegments(p.segs)
	case SchemeHTTPS:
		return webParts(l.Name)
	case SchemeFile, SchemeLayout:
		volume := filepath.VolumeName(l.Name)
		name := filepath.ToSlash(l.Name[len(volume):])
		rest := strings.TrimPrefix(name, "/")
		p := parts{root: volume + name[:len(name)-len(rest)], segs: strings.Split(rest, "/")}
		return p, plainSegments(p.segs)
	}
	return parts{}, false
}

func webParts(name string) (parts, bool) {
	scheme, rest, found := strings.Cut(name, "://")
	var p parts
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		rest, p.query = rest[:i], rest[i:]
	}
	host, path, _ := strings.Cut(rest, "/")
	p.root = scheme + "://" + host
	p.segs = strings.Split(path, "/")
	for i, s := range p.segs {
		var plain bool
		if p.segs[i], plain = unescape(s); !plain || !utf8.ValidString(p.segs[i]) { // some servers decoded %C0%AE as a dot
			return p, false
		}
	}
	return p, found && plainHost(host) && plainSegments(p.segs)
}

func plainHost(host string) bool { return !strings.ContainsAny(host, "@%\\ ") }

// plainSegments reports whether servers and file systems read the segments as they are written.
// Some servers cut off a segment at a semicolon first.
func plainSegments(segs []string) bool {
	for _, s := range segs {
		name, _, _ := strings.Cut(s, ";")
		if s == "" || name == "." || name == ".." || filepath.Separator == '/' && strings.ContainsAny(s, "\x00\\") {
			return false
		}
	}
	return true
}

// mustEscape are the ASCII characters that must be escaped in a path and have no special meaning
// there.
const mustEscape = " \"<>[]^`{|}"

// unescape decodes a segment of a URL's path, and reports whether all its escapes are necessary:
// %2e hides a dot.
func unescape(s string) (string, bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' {
			n, err := strconv.ParseUint(s[i+1:min(i+3, len(s))], 16, 8)
			if c = byte(n); err != nil || i+3 > len(s) || c < 0x80 && strings.IndexByte(mustEscape, c) < 0 {
				return s, false
			}
			i += 2
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// matchHost compares a host in all its names: *.docker.io matches one of them.
func (p Pattern) matchHost(want, got string) bool {
	if p.place.Scheme != SchemeOCI || got != DockerName {
		return matchRoot(want, got)
	}
	return slices.ContainsFunc(dockerNames(), func(name string) bool { return matchRoot(want, name) })
}

// matchRoot compares hosts label by label: a wildcard does not match a dot.
func matchRoot(want, got string) bool {
	if !strings.Contains(want, "*") {
		return want == got
	}
	if wantScheme, rest, found := strings.Cut(want, "://"); found {
		gotScheme, gotRest, _ := strings.Cut(got, "://")
		if wantScheme != gotScheme {
			return false
		}
		want, got = rest, gotRest
	}
	wantName, gotName := near.HostOnly(want), near.HostOnly(got)
	if want[len(wantName):] != got[len(gotName):] {
		return false
	}
	wants, gots := strings.Split(wantName, "."), strings.Split(gotName, ".")
	if len(wants) != len(gots) {
		return false
	}
	for i := range wants {
		if !near.IsLabel(gots[i]) || !matchText(wants[i], gots[i]) {
			return false
		}
	}
	return true
}

// matchText compares with wildcards: * matches any bytes, or none.
func matchText(want, got string) bool {
	return matchStars(len(want), len(got),
		func(i int) bool { return want[i] == '*' },
		func(i, j int) bool { return want[i] == got[j] })
}

// matchSegments compares segments: ** matches one segment or more.
func matchSegments(want, got []string) bool {
	// ** becomes one segment with any content, then any number of segments.
	var open []string
	for _, s := range want {
		if s == every {
			open = append(open, "*")
		}
		open = append(open, s)
	}
	return matchStars(len(open), len(got),
		func(i int) bool { return open[i] == every },
		func(i, j int) bool { return matchText(open[i], got[j]) })
}

// matchStars matches n pieces of a pattern with m pieces of a text. A star piece matches any
// number. It only backtracks to the last star, so it takes at most n times m steps.
func matchStars(n, m int, star func(int) bool, same func(i, j int) bool) bool {
	i, j := 0, 0
	back, from := -1, 0 // after the last star, and how far it has matched
	for j < m {
		switch {
		case i < n && star(i):
			i++
			back, from = i, j
		case i < n && same(i, j):
			i++
			j++
		case back >= 0:
			from++
			i, j = back, from
		default:
			return false
		}
	}
	for i < n && star(i) {
		i++
	}
	return i == n
}
