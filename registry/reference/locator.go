package reference

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	orasregistry "oras.land/oras-go/v2/registry"

	"github.com/krmcat/krmcat/registry/internal/near"
)

// The schemes of a Locator.
const (
	SchemeOCI    = "oci"
	SchemeLayout = "oci-layout"
	SchemeHTTPS  = "https" // and http on loopback: Name says which
	SchemeFile   = "file"
)

// maxReference is the maximum length of the input of Parse, in bytes.
const maxReference = 4096

// Locator is a parsed reference: oci://host/repo:tag@sha256:…, oci-layout://dir:tag, https://…,
// ./file. It names a place: a repository, an OCI layout, a URL or a file.
type Locator struct {
	Scheme string        // one of the Scheme constants, or that of a further Source
	Name   string        // host/repo, directory, URL without the digest, or file path
	Tag    string        // empty for none
	Digest digest.Digest // empty unless pinned
}

// Parse reads a reference: oci://host[:port]/repo[:tag], oci-layout://DIR[:tag], https://…,
// file://PATH or a bare path, each with an optional @sha256:… that pins it. http:// is accepted for
// loopback hosts only. registry.example.com/repo:tag without a scheme is a path. The text after
// file:// is the path as it is: nothing is percent-decoded. The error is a *Error.
func Parse(s string) (Locator, error) {
	l, err := parse(s)
	if err != nil {
		return Locator{}, &Error{Ref: redact(s), Err: err}
	}
	return l, nil
}

func parse(s string) (Locator, error) {
	if err := checkText(s); err != nil {
		return Locator{}, err
	}
	rest, pin, err := cutDigest(s)
	if err != nil {
		return Locator{}, err
	}
	l, err := parsePlace(rest)
	l.Digest = pin
	return l, err
}

func parsePlace(s string) (Locator, error) {
	scheme, rest := cutScheme(s)
	switch scheme {
	case "":
		return Locator{Scheme: SchemeFile, Name: s}, nil
	case SchemeOCI:
		return parseOCI(rest)
	case SchemeLayout:
		return parseLayout(rest)
	case SchemeHTTPS, "http":
		return parseURL(scheme + "://" + rest)
	case SchemeFile:
		return parseFile(rest)
	case "git", "ssh", "git+ssh", "git+https":
		return Locator{}, errors.New("git is not supported yet")
	}
	return Locator{}, fmt.Errorf("unknown scheme %q: krmcat reads oci, oci-layout, https and file", scheme)
}

func checkText(s string) error {
	switch {
	case s == "":
		return errors.New("it is empty")
	case len(s) > maxReference:
		return fmt.Errorf("it is longer than %d bytes", maxReference)
	case !utf8.ValidString(s):
		return errors.New("it is not UTF-8")
	case strings.IndexFunc(s, unicode.IsControl) >= 0:
		return errors.New("it contains control characters")
	}
	return nil
}

// digestMark matches a digest at the end. Any other text after an @ belongs to the name: names of
// files may contain an @.
var (
	digestMark  = lazy(`@(sha[0-9]+):[^/@]*$`) //nolint:gochecknoglobals // a constant that is compiled when needed
	digestStart = lazy(`@sha[0-9]+:`)          //nolint:gochecknoglobals // a constant that is compiled when needed
)

var errOneDigest = errors.New("expected one digest, at the end of the reference")

func cutDigest(s string) (string, digest.Digest, error) {
	at := digestMark().FindStringSubmatchIndex(s)
	if at == nil {
		if digestStart().MatchString(s) {
			return "", "", errOneDigest
		}
		return s, "", nil
	}
	if alg := s[at[2]:at[3]]; alg != digest.SHA256.String() {
		return "", "", fmt.Errorf("digests are sha256, not %s", alg)
	}
	d := digest.Digest(s[at[0]+1:])
	if d.Validate() != nil {
		return "", "", errors.New("its digest is not sha256: and 64 hexadecimal digits in lower case")
	}
	rest := s[:at[0]]
	if rest == "" || digestStart().MatchString(rest) {
		return "", "", errOneDigest
	}
	return rest, d, nil
}

var schemeMark = lazy(`^([A-Za-z][A-Za-z0-9+.-]+)://`) //nolint:gochecknoglobals // a constant that is compiled when needed

// cutScheme splits the scheme, in lower case, from the rest. One letter before a colon is a Windows
// drive, not a scheme.
func cutScheme(s string) (scheme, rest string) {
	if m := schemeMark().FindStringSubmatch(s); m != nil {
		return strings.ToLower(m[1]), s[len(m[0]):]
	}
	if strings.HasPrefix(s, "git::") || strings.HasPrefix(s, "git@") {
		return "git", ""
	}
	// "oci:host/repo" is more likely a typing error than a file.
	for _, known := range []string{SchemeOCI, SchemeLayout, SchemeHTTPS, "http", SchemeFile, "docker", "git", "ssh"} {
		if len(s) > len(known) && s[len(known)] == ':' && strings.EqualFold(s[:len(known)], known) {
			return known + ": without //", ""
		}
	}
	return "", s
}

func parseOCI(rest string) (Locator, error) {
	ref, err := orasregistry.ParseReference(rest)
	switch {
	case strings.Contains(rest, "@"):
		return Locator{}, errors.New("it contains credentials or a malformed digest: krmcat uses the credentials of the user's Docker configuration")
	case err != nil:
		return Locator{}, errors.New("expected oci://host[:port]/repository[:tag], the repository in lower case")
	case strings.HasSuffix(rest, ":"):
		return Locator{}, errors.New("its tag is empty")
	}
	l := Locator{Scheme: SchemeOCI, Name: ref.Registry + "/" + ref.Repository, Tag: ref.Reference}
	return l, checkHost(l.host())
}

var tagMark = lazy(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`) //nolint:gochecknoglobals // a constant that is compiled when needed

// IsTag reports whether s can be a tag.
func IsTag(s string) bool { return tagMark().MatchString(s) }

// parseLayout reads DIR[:tag]. A colon before the last separator belongs to the directory.
func parseLayout(rest string) (Locator, error) {
	l := Locator{Scheme: SchemeLayout, Name: rest}
	if i := tagColon(rest); i >= 0 {
		l.Name, l.Tag = rest[:i], rest[i+1:]
		if !IsTag(l.Tag) {
			return Locator{}, fmt.Errorf("%q is not a tag", l.Tag)
		}
		if tagColon(l.Name) >= 0 {
			return Locator{}, errors.New("only one colon may follow the last separator, the one before the tag")
		}
	}
	if l.Name == "" {
		return Locator{}, errors.New("its directory is empty")
	}
	l.Name = trimSlashes(l.Name)
	return l, nil
}

// trimSlashes removes slashes at the end of a directory that is not a root.
func trimSlashes(dir string) string {
	short := strings.TrimRight(dir, "/")
	switch {
	case short == "":
		return "/"
	case short == filepath.VolumeName(short):
		return dir
	}
	return short
}

// tagColon returns the index of the last colon after the last separator, or -1.
func tagColon(dir string) int {
	separators, drive := "/", -1
	if runtime.GOOS == "windows" {
		separators = `/\`
		if len(dir) > 1 && unicode.IsLetter(rune(dir[0])) && dir[1] == ':' {
			drive = 1
		}
	}
	i := strings.LastIndexByte(dir, ':')
	if i <= strings.LastIndexAny(dir, separators) || i == drive {
		return -1
	}
	return i
}

func parseURL(s string) (Locator, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return Locator{}, errors.New("it is not a URL")
	case u.User != nil:
		return Locator{}, errors.New("it contains credentials: krmcat reads https without credentials")
	case u.Fragment != "" || strings.Contains(s, "#"):
		return Locator{}, errors.New("it has a fragment, which a server does not get")
	case u.Scheme == "http" && !near.Loopback(u.Hostname()):
		return Locator{}, errors.New("plain http is accepted for this machine only: write https")
	}
	return Locator{Scheme: SchemeHTTPS, Name: s}, checkHost(u.Hostname())
}

// checkHost refuses invalid hosts, and hosts that some resolvers and proxies interpret as another
// host than the one that krmcat compares.
func checkHost(host string) error {
	name := near.Bare(host)
	_, isAddress := near.Address(host)
	switch {
	case host == "":
		return errors.New("its host is empty")
	case !near.ASCII(host):
		return errors.New("its host is not ASCII: write it as in DNS, xn--…")
	case strings.Contains(host, "%"):
		return errors.New("its host contains an escape or a zone: write the name, or the address without its zone")
	case isAddress:
		return nil
	case near.Ambiguous(name):
		return errors.New("its host ends in a number and is not an IP address in the usual form: write it like 192.0.2.1")
	case slices.ContainsFunc(strings.Split(name, "."), func(label string) bool { return !near.IsLabel(label) }):
		return errors.New("its host is not a name: labels consist of letters, digits, - and _")
	}
	return nil
}

// IsHost reports whether Parse reads s as the host of a registry: a login for another one would
// never be used, and its letters may be those of a name that looks the same.
func IsHost(s string) bool {
	l, err := parseOCI(s + "/repository")
	return err == nil && l.Name == s+"/repository" && !strings.Contains(s, "/") && !strings.HasSuffix(s, ":") && near.HostOnly(s) != ""
}

func parseFile(rest string) (Locator, error) {
	if runtime.GOOS == "windows" && len(rest) > 2 && rest[0] == '/' && rest[2] == ':' {
		rest = rest[1:]
	}
	if rest == "" {
		return Locator{}, errors.New("its path is empty")
	}
	return Locator{Scheme: SchemeFile, Name: rest}, nil
}

// String writes the reference so that Parse reads it back.
func (l Locator) String() string {
	var b strings.Builder
	switch l.Scheme {
	case SchemeFile:
		if scheme, _ := cutScheme(l.Name); scheme != "" {
			b.WriteString("file://")
		}
		b.WriteString(l.Name)
	case SchemeHTTPS:
		b.WriteString(l.Name)
	case SchemeLayout:
		b.WriteString("oci-layout://" + l.Name)
		if tagColon(l.Name) >= 0 {
			b.WriteByte('/')
		}
	default:
		b.WriteString(l.Scheme + "://" + l.Name)
	}
	if l.Tag != "" {
		b.WriteString(":" + l.Tag)
	}
	if l.Digest != "" {
		b.WriteString("@" + l.Digest.String())
	}
	return b.String()
}

// Display returns String without the query of a URL, which may contain a signature or a token. It
// is for messages: Parse does not read it back.
func (l Locator) Display() string {
	if !l.Local() && l.Scheme != SchemeOCI {
		l.Name = cutQuery(l.Name)
	}
	return l.String()
}

func cutQuery(s string) string {
	if head, _, found := strings.Cut(s, "?"); found {
		return head + "?…"
	}
	return s
}

// redact removes what may be a password or a signature from a reference that could not be parsed,
// so that errors can show it.
func redact(s string) string {
	if len(s) > maxReference {
		s = s[:maxReference] + "…"
	}
	s = hideUser(s)
	if scheme, _ := cutScheme(s); scheme == "" || scheme == SchemeFile || scheme == SchemeLayout {
		return s
	}
	return cutQuery(s)
}

func hideUser(s string) string {
	_, rest, found := strings.Cut(s, "://")
	if !found {
		return s
	}
	authority, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 || strings.HasPrefix(authority[at:], "@sha") {
		return s
	}
	head := len(s) - len(rest)
	return s[:head] + "…" + rest[at:]
}

// lazy returns a function that compiles a pattern at its first use, so that it does not delay the
// start of the program.
func lazy(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
