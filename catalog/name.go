package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// DefaultName is the name of a function whose entry has none, and of a functionConfig without one:
// the kind in kebab case (KEP-2299, "Notes"). JavaApplication becomes java-application, HTTPRoute
// http-route.
func DefaultName(kind string) string {
	var b strings.Builder
	rs := []rune(kind)
	for i, r := range rs {
		if i > 0 && unicode.IsUpper(r) &&
			(!unicode.IsUpper(rs[i-1]) || (i+1 < len(rs) && unicode.IsLower(rs[i+1]))) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// maxName is the maximum length of what Query.Named is, in bytes: a group of 253, a kind and a
// version of 63 each.
const maxName = 400

// CheckNamed returns why a text can be no Query.Named.
func CheckNamed(text string) error {
	_, err := parseNamed(text)
	return err
}

// KindOf reads GROUP/KIND, GROUP/KIND/VERSION and GROUP/VERSION/KIND. The group is empty for the
// core group, which VERSION/KIND means too. The version is empty if there is none. ok is false for
// another text.
func KindOf(text string) (id FunctionID, ok bool) {
	parts := strings.Split(text, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return id, false
	}
	for _, p := range parts[1:] {
		if p == "" {
			return id, false
		}
	}
	switch {
	case len(parts) == 2 && isVersion(parts[0]):
		return FunctionID{Version: parts[0], Kind: parts[1]}, true
	case len(parts) == 2:
		return FunctionID{Group: parts[0], Kind: parts[1]}, true
	case isVersion(parts[2]) && !isVersion(parts[1]):
		return FunctionID{Group: parts[0], Kind: parts[1], Version: parts[2]}, true
	}
	return FunctionID{Group: parts[0], Version: parts[1], Kind: parts[2]}, true
}

// isVersion reports whether a text is a version as Kubernetes writes them. No group is one.
func isVersion(text string) bool {
	return regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`).MatchString(text)
}

// named is a Query.Named: a name, or a kind.
type named struct {
	name string
	kind FunctionID // the zero value if name is set
}

func parseNamed(text string) (named, error) {
	switch {
	case text == "":
		return named{}, errors.New("the name of the function is empty")
	case len(text) > maxName:
		return named{}, fmt.Errorf("the name of the function is longer than %d bytes", maxName)
	case notName(strings.ReplaceAll(text, "/", "")):
		return named{}, fmt.Errorf("%s is not the name of a function: it has a space or a control character", yamldoc.Quote(text))
	case !strings.Contains(text, "/"):
		return named{name: text}, nil
	}
	id, ok := KindOf(text)
	if !ok {
		return named{}, fmt.Errorf("%s is neither the name of a function nor GROUP/KIND, nor GROUP/KIND/VERSION", plain(text))
	}
	return named{kind: id}, nil
}

// notName reports whether a text has characters that no part of a FunctionID has, and no name.
func notName(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) })
}

// fits reports whether a function has the name, or the kind and the version if there is one. A name
// that an entry has written counts before those that entries have by default: written says which.
func (n named) fits(f *Function, written bool) bool {
	switch {
	case n.name != "" && written:
		return f.Name == n.name
	case n.name != "":
		return f.Name == "" && DefaultName(f.ID.Kind) == n.name
	}
	return f.ID.Group == n.kind.Group && f.ID.Kind == n.kind.Kind && (n.kind.Version == "" || f.ID.Version == n.kind.Version)
}
