package verify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/registry/reference"
)

// soon is the time before the end of an exemption from which it is reported.
const soon = 30 * day

// Notes returns what readers of the policy may overlook, for people, in the order of the rules:
// rules that do not apply, checks that are turned off, exemptions that have expired or will soon.
func (t *TrustPolicy) Notes(now time.Time) []string {
	var out []string
	add := func(where, format string, args ...any) {
		if line := where + ": " + fmt.Sprintf(format, args...); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	for i, rule := range t.Rules {
		for _, f := range rule.Functions {
			if usual := f.usual(); usual != f {
				add(rule.Where, "%s is not in the usual spelling of functions, a group in lower case and a kind that begins with a capital letter: write %s; as it is, it can require and deny, but not allow", f, usual)
			}
		}
		for _, use := range []Use{UseCatalog, UseScript} {
			d := rule.of(use)
			if d == nil {
				continue
			}
			for _, note := range d.notes(now) {
				add(rule.Where, "%s", note)
			}
			if rule.narrow() {
				continue
			}
			for _, p := range rule.Match {
				if first := t.before(i, use, p); first != "" {
					add(rule.Where, "%s never applies to %s: %s is for the same places and comes first", p, useWords(use), first)
				}
				if other := t.besideTag(use, p); other.demand != nil && other.demand != d {
					add(rule.Where, "%s is for a tag: to %s whose reference has a digest and no tag, %s (%s) applies", p, useWords(use), other.rule.Where, other.pattern)
				}
			}
		}
	}
	return out
}

// notes returns the notes about one demand.
func (d *Demand) notes(now time.Time) []string {
	var out []string
	switch left := d.Until.Sub(now); {
	case d.Nothing == "" || d.Until.IsZero():
	case left <= 0:
		out = append(out, fmt.Sprintf("the exemption (%s) expired: it was valid until %s, and its content is refused", d.Nothing, d.end()))
	case left <= soon:
		out = append(out, fmt.Sprintf("the exemption (%s) ends %s: it is until %s", d.Nothing, d.remains(left), d.end()))
	}
	for _, s := range d.Signatures {
		if n, ok := s.Judge.(Noting); ok {
			out = append(out, n.Notes()...)
		}
	}
	return out
}

// remains returns how long an exemption is still valid.
func (d *Demand) remains(left time.Duration) string {
	days, hours := int(left/day), int(left/time.Hour)
	switch {
	case days > 1:
		return fmt.Sprintf("in %d days", days)
	case days == 1:
		return "in 1 day"
	case !d.UntilOf.IsZero():
		return "today" // in UTC
	case hours > 1:
		return fmt.Sprintf("in %d hours", hours)
	}
	return fmt.Sprintf("in %d minutes", int(left/time.Minute))
}

// before returns the position of an earlier rule for the same places, "" for none.
func (t *TrustPolicy) before(i int, use Use, p reference.Pattern) string {
	for _, rule := range t.Rules[:i] {
		if rule.of(use) != nil && !rule.narrow() && slices.ContainsFunc(rule.Match, func(o reference.Pattern) bool { return o.Compare(p) == 0 }) {
			return rule.Where
		}
	}
	return ""
}

// besideTag returns the rule that applies if a reference has a digest in place of the tag that a
// pattern matches.
func (t *TrustPolicy) besideTag(use Use, p reference.Pattern) choice {
	l := p.Sample()
	if !p.Tagged() || l.Scheme == "" {
		return choice{}
	}
	l.Tag, l.Digest = "", digest.NewDigestFromEncoded(digest.SHA256, strings.Repeat("0", 64))
	return t.best(use, l.Spellings()[0])
}

func useWords(u Use) string {
	if u == UseCatalog {
		return "catalogs"
	}
	return "runtimes"
}
