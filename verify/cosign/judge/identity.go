package judge

import (
	"crypto/x509"
	"errors"
	"fmt"
	"regexp"

	"github.com/sigstore/cosign/v2/pkg/cosign"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	sigverify "github.com/sigstore/sigstore-go/pkg/verify"

	"github.com/krmcat/krmcat/internal/failure"
)

// trustedIdentity is an Identity with compiled expressions.
type trustedIdentity struct {
	Identity // the expressions are anchored
	words    string
	match    sigverify.CertificateIdentity
	extended []extension
}

// String describes the identity.
func (t *trustedIdentity) String() string { return t.words }

// vagueness returns the number of expressions, larger for less specific identities.
func (t *trustedIdentity) vagueness() int {
	n := 0
	for _, re := range []string{t.SubjectRegExp, t.IssuerRegExp} {
		if re != "" {
			n++
		}
	}
	if len(t.extended) == 0 {
		n++ // identities with extensions come first
	}
	return n
}

func compile(id Identity) (*trustedIdentity, error) {
	if (id.Subject == "") == (id.SubjectRegExp == "") {
		return nil, errors.New("it needs either a subject or a regular expression for it")
	}
	if (id.Issuer == "") == (id.IssuerRegExp == "") {
		return nil, errors.New("it needs either an issuer or a regular expression for it")
	}
	out := &trustedIdentity{Identity: id}
	out.words = clean(part(id.Subject, id.SubjectRegExp)+" of "+part(id.Issuer, id.IssuerRegExp), maxWords)
	var err error
	if out.SubjectRegExp, err = anchored(id.SubjectRegExp); err != nil {
		return nil, fmt.Errorf("subjectRegExp: %w", err)
	}
	if out.IssuerRegExp, err = anchored(id.IssuerRegExp); err != nil {
		return nil, fmt.Errorf("issuerRegExp: %w", err)
	}
	if out.extended, err = compileExtensions(id.Extensions); err != nil {
		return nil, err
	}
	for _, e := range out.extended {
		out.words += ", " + e.String()
	}
	out.match, err = sigverify.NewShortCertificateIdentity(out.Issuer, out.IssuerRegExp, out.Subject, out.SubjectRegExp)
	return out, err
}

// part formats a value, or an expression between slashes.
func part(exact, re string) string {
	if re == "" {
		return exact
	}
	return "/" + re + "/"
}

// anchored makes an expression match the whole value. It is compiled alone first, so that an extra
// bracket cannot close the added group.
func anchored(re string) (string, error) {
	if re == "" {
		return "", nil
	}
	if len(re) > maxRegExp {
		return "", failure.Untrusted.Mark(fmt.Errorf("it has %d characters, at most %d are allowed", len(re), maxRegExp))
	}
	if _, err := regexp.Compile(re); err != nil {
		return "", errors.New(clean(err.Error(), maxWords))
	}
	all := `\A(?:` + re + `)\z`
	if _, err := regexp.Compile(all); err != nil {
		return "", errors.New(clean(err.Error(), maxWords))
	}
	return all, nil
}

// forCosign converts the identity to cosign's type.
func (t *trustedIdentity) forCosign() cosign.Identity {
	return cosign.Identity{
		Subject: t.Subject, SubjectRegExp: t.SubjectRegExp, Issuer: t.Issuer, IssuerRegExp: t.IssuerRegExp,
	}
}

// identityOf returns the identity of a certificate.
func identityOf(cert *x509.Certificate) (certificate.Summary, error) {
	s, err := certificate.SummarizeCertificate(cert)
	if err != nil {
		return s, errors.New("its certificate has no identity: " + clean(err.Error(), maxWords))
	}
	return s, nil
}

// identity returns the trusted identity that matches a certificate. It does not verify the
// certificate.
func (j *judge) identity(s certificate.Summary) (*trustedIdentity, error) {
	var other error // the identity matches, but its extensions do not
	for _, id := range j.identities {
		if id.match.Verify(s) != nil {
			continue
		}
		err := id.extends(s)
		if err == nil {
			return id, nil
		}
		other = err
	}
	if other != nil {
		return nil, other
	}
	who := clean(s.SubjectAlternativeName, maxWords) + " of " + clean(s.Issuer, maxWords)
	switch len(j.identities) {
	case 0:
		return nil, fmt.Errorf("it is signed with a certificate for %s, and only keys are accepted here", who)
	case 1:
		return nil, fmt.Errorf("the certificate is for %s, wanted %s", who, j.identities[0])
	}
	return nil, fmt.Errorf("the certificate is for %s, who is not among the %d identities", who, len(j.identities))
}
