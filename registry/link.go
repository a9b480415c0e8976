package registry

import (
	"errors"
	"strings"
)

var errBadLink = errors.New("its Link header cannot be read")

// nextLink returns the next page of a list, from the values of Link headers: the target of the
// first link with the relation next, "" for none (RFC 8288). A malformed link, one without a
// relation, and one without a target are errors, because it may be the next page.
func nextLink(values []string) (string, error) {
	rest := strings.TrimLeft(strings.Join(values, ","), " \t,")
	for rest != "" {
		opened, isLink := strings.CutPrefix(rest, "<")
		target, after, closed := strings.Cut(opened, ">")
		if !isLink || !closed {
			return "", errBadLink
		}
		rel, after, err := linkRelation(after)
		if err != nil {
			return "", err
		}
		for _, r := range strings.Fields(rel) {
			switch {
			case !strings.EqualFold(r, "next"):
			case target == "": // the same page
				return "", errBadLink
			default:
				return target, nil
			}
		}
		rest = strings.TrimLeft(after, " \t,")
	}
	return "", nil
}

// linkRelation parses the parameters after the target of a link, and returns the first rel, as RFC
// 8288 requires, and the rest after the link.
func linkRelation(s string) (rel, rest string, err error) {
	found := false
	for s = blank(s); strings.HasPrefix(s, ";"); s = blank(s) {
		s = blank(s[1:])
		end := strings.IndexAny(s, "=;, \t")
		if end < 0 {
			end = len(s)
		}
		name, value := s[:end], ""
		if s = blank(s[end:]); strings.HasPrefix(s, "=") {
			if value, s, err = linkValue(blank(s[1:])); err != nil {
				return "", "", err
			}
		}
		if strings.EqualFold(name, "rel") && !found {
			rel, found = value, true
		}
	}
	if !found || s != "" && s[0] != ',' {
		return "", "", errBadLink
	}
	return rel, s, nil
}

// linkValue parses a token or a quoted string.
func linkValue(s string) (value, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";, \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:], nil
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], nil
		case '\\':
			if i++; i == len(s) {
				return "", "", errBadLink
			}
		}
		b.WriteByte(s[i])
	}
	return "", "", errBadLink
}

func blank(s string) string { return strings.TrimLeft(s, " \t") }
