package judge

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/sigstore/sigstore-go/pkg/root"

	"github.com/krmcat/krmcat/internal/failure"
)

// Limits of a demand. Each signature is compared with every key.
const (
	maxKeys        = 32
	maxIdentities  = 32
	maxAnnotations = 64
	maxRegExp      = 1024     // characters
	maxPEM         = 64 << 10 // bytes
	maxRoot        = 4 << 20  // bytes
)

// build returns a judge for a demand. Errors are *DemandError.
func build(d Demand) (*judge, error) {
	j := &judge{demand: d, threshold: max(d.Threshold, 1)}
	for _, step := range []func() error{j.addKeys, j.addIdentities, j.addRoot, j.checkDecisions, j.checkRest} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// bad returns an error about a field. %w gives its cause.
func bad(field, format string, args ...any) error {
	msg := fmt.Errorf(format, args...)
	return &DemandError{Field: field, Msg: msg.Error(), Err: errors.Unwrap(msg)}
}

// unless returns an error about a trusted root that lacks what a check needs, which another field
// disables.
func unless(waiver, msg string) error {
	return &DemandError{Field: "trustedRoot", Msg: msg, Waiver: waiver}
}

func tooMany(n, limit int) error {
	return failure.Untrusted.Mark(fmt.Errorf("there are %d, at most %d are allowed", n, limit))
}

func (j *judge) addKeys() error {
	if n := len(j.demand.Keys); n > maxKeys {
		return bad("keys", "%w", tooMany(n, maxKeys))
	}
	for i, k := range j.demand.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		parsed, err := parseKey(k)
		if err != nil {
			return bad(at, "%w", err)
		}
		if o := slices.IndexFunc(j.keys, func(o *trustedKey) bool { return o.digest == parsed.digest }); o >= 0 {
			return bad(at, "it is the same key as keys[%d]", o)
		}
		if o := slices.IndexFunc(j.keys, func(o *trustedKey) bool { return o.name == parsed.name }); o >= 0 {
			if k.Name != "" {
				return bad(at, "keys[%d] is called %q too", o, k.Name)
			}
			parsed.name = parsed.short()
		}
		j.keys = append(j.keys, parsed)
	}
	return nil
}

func (j *judge) addIdentities() error {
	if n := len(j.demand.Identities); n > maxIdentities {
		return bad("identities", "%w", tooMany(n, maxIdentities))
	}
	for i, id := range j.demand.Identities {
		at := fmt.Sprintf("identities[%d]", i)
		if o := slices.IndexFunc(j.demand.Identities[:i], func(o Identity) bool { return reflect.DeepEqual(id, o) }); o >= 0 {
			return bad(at, "it is the same identity as identities[%d]", o)
		}
		c, err := compile(id)
		if err != nil {
			return bad(at, "%w", err)
		}
		j.identities = append(j.identities, c)
	}
	// Exact identities come first, so that a signer who is named does not count for an expression.
	slices.SortStableFunc(j.identities, func(a, b *trustedIdentity) int { return a.vagueness() - b.vagueness() })
	return nil
}

func (j *judge) addRoot() error {
	if len(j.demand.TrustedRoot) == 0 {
		return nil
	}
	if n := len(j.demand.TrustedRoot); n > maxRoot {
		return bad("trustedRoot", "%w", failure.Untrusted.Mark(fmt.Errorf("it has %d bytes, at most %d are allowed", n, maxRoot)))
	}
	r, err := parseRoot(j.demand.TrustedRoot)
	if err != nil {
		return bad("trustedRoot", "it is not a trusted root of sigstore: %s", clean(err.Error(), maxWords))
	}
	j.root = r
	return nil
}

// parseRoot reads a trusted root. A panic of the library is an error.
func parseRoot(data []byte) (r *root.TrustedRoot, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("it is malformed")
		}
	}()
	return root.NewTrustedRootFromJSON(data)
}

// checkDecisions refuses a demand that nothing could satisfy, and one without a decision about logs
// and times.
func (j *judge) checkDecisions() error {
	d := j.demand
	switch {
	case len(j.keys) == 0 && len(j.identities) == 0:
		return bad("keys", "neither keys nor identities are given")
	case j.root == nil && len(j.identities) > 0:
		return bad("trustedRoot", "identities need one: it contains the certificate authorities")
	case j.root == nil && !d.InsecureIgnoreTlog:
		return unless("insecureIgnoreTlog", "give the one with the transparency log that signatures by key have to be in")
	case !d.InsecureIgnoreTlog && len(j.root.RekorLogs()) == 0:
		return unless("insecureIgnoreTlog", "it has no transparency log: give one that has")
	case !d.NotBefore.IsZero() && len(j.keys) > 0:
		return bad("notBefore", "it is for identities, and there are keys: a log or a timestamp authority says that a signature by key was there, not that it was made then, so an old one could be entered anew")
	case len(j.identities) == 0:
		return nil
	case len(j.root.FulcioCertificateAuthorities()) == 0:
		return bad("trustedRoot", "it has no certificate authority, which identities need")
	case !d.InsecureIgnoreSCT && len(j.root.CTLogs()) == 0:
		return unless("insecureIgnoreSCT", "it has no certificate transparency log: give one that has")
	case d.InsecureIgnoreTlog && !d.InsecureIgnoreTimestamp && len(j.root.TimestampingAuthorities()) == 0:
		return unless("insecureIgnoreTimestamp", "without the transparency log nothing proves when a certificate was used: give one with a timestamp authority")
	}
	return nil
}

func (j *judge) checkRest() error {
	d := j.demand
	if d.Threshold < 0 {
		return bad("threshold", "it has to be 1 or more")
	}
	if n := len(j.keys) + len(j.identities); j.threshold > n {
		return bad("threshold", "it asks for %d signers, and there are %d", j.threshold, n)
	}
	if n := len(d.Annotations); n > maxAnnotations {
		return bad("annotations", "%w", tooMany(n, maxAnnotations))
	}
	if _, ok := d.Annotations[""]; ok {
		return bad("annotations", "one has no name")
	}
	for i, f := range d.Forms {
		if err := checkForm(f); err != nil {
			return bad(fmt.Sprintf("formats[%d]", i), "%s", err)
		}
	}
	return nil
}
