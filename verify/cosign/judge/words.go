package judge

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	"github.com/sigstore/sigstore-go/pkg/root"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"
)

// Limits of text of third parties, in characters unless stated otherwise.
const (
	maxWords       = 200
	maxReason      = 600
	maxShown       = 32       // annotations
	maxValue       = 4 << 10  // bytes of an annotation of a signature that counts
	maxSignature   = 1 << 20  // bytes of a payload or bundle
	maxCertificate = 64 << 10 // bytes, with chain
)

// errNobody is the reason for every signature if nobody is trusted.
var errNobody = errors.New("it was not checked, because no policy or flag requires it")

// clean converts text of a third party to one line of limited length without control characters and
// characters that change the direction of writing.
func clean(s string, limit int) string {
	var b strings.Builder
	n, space := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = b.Len() > 0
			continue
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if space {
			b.WriteByte(' ')
			n++
		}
		space = false
		b.WriteRune(r)
		if n++; n >= limit {
			b.WriteString("…")
			break
		}
	}
	return b.String()
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// words formats annotations.
func words(m map[string]string) string {
	var out []string
	for _, k := range sorted(m) {
		out = append(out, clean(k, maxWords)+"="+clean(m[k], maxWords))
	}
	return strings.Join(out, ", ")
}

// shown returns unverified annotations as far as they are shown.
func shown(have map[string]any) map[string]string {
	return texts(have, maxShown, func(s string) string { return clean(s, maxWords) })
}

// whole returns the annotations of a valid signature, as complete as possible, because programs
// compare them.
func whole(have map[string]any) map[string]string {
	return texts(have, maxAnnotations, func(s string) string { return harmless(s, maxValue) })
}

// texts converts up to limit annotations to text; values that are not strings are JSON.
func texts(have map[string]any, limit int, of func(string) string) map[string]string {
	if len(have) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, k := range sorted(have) {
		if len(out) == limit {
			break
		}
		s, ok := have[k].(string)
		if !ok {
			data, err := json.Marshal(have[k])
			if err != nil {
				continue
			}
			s = string(data)
		}
		out[of(k)] = of(s)
	}
	return out
}

// harmless takes control characters out of a text, and what turns the direction of writing.
// The rest stays as it is, up to limit bytes.
func harmless(s string, limit int) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsSpace(r) {
			r = ' '
		}
		if !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > limit {
			b.WriteString("…")
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// another says that a signature is about something else.
func another(what digest.Digest) error {
	if what == "" {
		return errors.New("it does not say which digest it signs")
	}
	return fmt.Errorf("it signs %s, another artifact", what)
}

// noLeaf is in errors of the libraries about a certificate.
const noLeaf = "leaf certificate verification failed"

// errNoAuthority is the reason where a certificate is of an unknown authority.
var errNoAuthority = errors.New("no authority of the trusted root vouches for the certificate")

// plain converts errors of the libraries to plain messages. Unknown errors are quoted.
func plain(err error) error {
	said := err.Error()
	for _, k := range []struct{ theirs, ours string }{
		{"does not match expected root", "the log entry is invalid: its inclusion proof does not match"},
		{"inclusion proof missing", "the log entry has no inclusion proof"},
		{"not enough verified log entries", "no log of the trusted root vouches for the log entry"},
		{"rekor log public key not found", "the log entry is of a log that is not in the trusted root"},
		{"unable to verify SET", "the log did not sign the log entry"},
		{"verifying bundle with trusted root", "the log entry is invalid: " + said},
		{"transparency log certificate does not match", "the log entry is about another key or certificate"},
		{"comparing public key PEMs", "the log entry is about another key or certificate"},
		{"transparency log signature does not match", "the log entry is about another signature"},
		{"signature in bundle does not match", "the log entry is about another signature"},
		{"matching bundle to payload", "the log entry is about another content"},
		{"failed to verify log inclusion", "the log entry is invalid: " + said},
		{"verified signed & log entry integrated timestamps", "no trusted source attests when it was made"},
		{"no valid observer timestamps found", "no trusted source attests when it was made"},
		{"expected a signed timestamp", "the certificate has expired, and nothing says that it was used before"},
		{"unable to meet threshold", "no certificate transparency log of the trusted root vouches for the certificate (SCT)"},
		{"does not include required embedded SCT", "no certificate transparency log of the trusted root vouches for the certificate (SCT)"},
		{noLeaf, errNoAuthority.Error()},
		{"exactly one signature is required", "it does not have exactly one signature"},
		{"could not verify envelope", "the signature does not match the signed content"},
		{"invalid signature when validating", "the signature does not match the signed content"},
	} {
		if strings.Contains(said, k.theirs) {
			return errors.New(k.ours)
		}
	}
	return fmt.Errorf("sigstore says: %s", said)
}

// plainTime distinguishes certificates of an untrusted authority from those that were not valid
// when they were used. The libraries do not.
func plainTime(err error, cert *x509.Certificate, when time.Time, r *root.TrustedRoot) error {
	about := func(text string) bool { return strings.Contains(err.Error(), text) }
	if r == nil || !slices.ContainsFunc([]string{
		noLeaf, "integrated time outside certificate validity", "checking expiry", "expired certificate",
	}, about) {
		return plain(err)
	}
	cert.UnhandledCriticalExtensions = nil // only to find the reason
	if _, e := sigverify.VerifyLeafCertificate(cert.NotBefore, cert, r); e != nil {
		return errNoAuthority
	}
	switch {
	case when.After(cert.NotAfter):
		return fmt.Errorf("the certificate expired at %s, before it was used at %s", stampText(cert.NotAfter), stampText(when))
	case when.Before(cert.NotBefore):
		return fmt.Errorf("the certificate is valid from %s, and it was used before, at %s", stampText(cert.NotBefore), stampText(when))
	}
	return fmt.Errorf("no authority of the trusted root was valid at %s, when the certificate was used", stampText(when))
}
