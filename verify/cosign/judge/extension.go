package judge

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"

	"github.com/krmcat/krmcat/verify/cosign"
)

// extension is the required value of one field of a certificate.
type extension struct {
	name  string
	exact string
	match *regexp.Regexp // nil for an exact value
	text  string         // the expression as written
}

// String returns the field and its required value.
func (e extension) String() string {
	return e.name + " " + clean(part(e.exact, e.text), maxWords)
}

// fits reports whether a value is as required.
func (e extension) fits(value string) bool {
	if e.match != nil {
		return value != "" && e.match.MatchString(value)
	}
	return value == e.exact
}

func compileExtensions(fields map[string]string) ([]extension, error) {
	var out []extension
	for _, field := range sorted(fields) {
		name, isExpression := strings.CutSuffix(field, regExp)
		e := extension{name: name, exact: fields[field]}
		switch {
		case !slices.Contains(cosign.ExtensionNames(), name):
			return nil, fmt.Errorf("extensions: %s is not a field of a certificate", clean(field, maxWords))
		case fields[field] == "":
			return nil, fmt.Errorf("extensions: %s is empty", field)
		case isExpression && fields[name] != "":
			return nil, fmt.Errorf("extensions: it needs either %s or %s", name, field)
		}
		if isExpression {
			whole, err := anchored(fields[field])
			if err != nil {
				return nil, fmt.Errorf("extensions: %s: %w", field, err)
			}
			e.exact, e.text = "", fields[field]
			if e.match, err = regexp.Compile(whole); err != nil {
				return nil, fmt.Errorf("extensions: %s: %w", field, err)
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// extends compares the extensions of a certificate with the required ones.
func (t *trustedIdentity) extends(s certificate.Summary) error {
	if len(t.extended) == 0 {
		return nil
	}
	data, err := json.Marshal(s.Extensions)
	have := map[string]string{}
	if err == nil {
		err = json.Unmarshal(data, &have)
	}
	if err != nil {
		return errors.New("its certificate cannot be read: " + clean(err.Error(), maxWords))
	}
	for _, e := range t.extended {
		switch got, ok := have[e.name]; {
		case !ok:
			return fmt.Errorf("the certificate has no %s, wanted %s", e.name, e)
		case !e.fits(got):
			return fmt.Errorf("the certificate has %s %s, wanted %s", e.name, clean(got, maxWords), e)
		}
	}
	return nil
}

// recent refuses a signature that was made before NotBefore. The time of a log or an authority is
// an upper bound: anybody can have an old signature entered again. The certificate, which was
// issued for the signature, gives a lower bound. Both must be late enough.
func (j *judge) recent(cert *x509.Certificate, f *finding) error {
	since := j.demand.NotBefore
	switch {
	case since.IsZero():
		return nil
	case f.Time == nil || f.TimeFrom != fromLog && f.TimeFrom != fromAuthority:
		return fmt.Errorf("no trusted source attests when it was made, and %s or later is required", stampText(since))
	case f.Time.Before(since):
		return fmt.Errorf("it was made at %s (%s), wanted %s or later", stampText(*f.Time), f.TimeFrom, stampText(since))
	case cert.NotBefore.Before(since.Truncate(time.Second)):
		return fmt.Errorf("its certificate was issued at %s, wanted %s or later", stampText(cert.NotBefore), stampText(since))
	}
	return nil
}
