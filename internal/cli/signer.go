package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify/cosign"
)

// signer returns the signer that the flags name. o has the options of connections.
func (e *env) signer(c *cli.Context, s *signCall, o registry.Options) (signing, error) {
	var who signing
	var err error
	if who.claim.Annotations, err = annotations(c, s.annotationFlag(), s.annotations.Value()); err != nil {
		return who, err
	}
	forms, err := forms(c, s)
	if err != nil {
		return who, err
	}
	who.chosen = s.format != ""
	if s.key == "" {
		if who.mine, err = e.cosign.Judge(nil, nil); err != nil {
			return who, err
		}
		who.signer, err = e.keyless(c, s, o)
		return who, err
	}
	for _, name := range []string{tokenName, "fulcio-url", "rekor-url", "timestamp-url", rootName} {
		if c.IsSet(name) {
			return who, usage(c, "--%s is for signing without a key, and --%s is given", name, keyName)
		}
	}
	var service *cosign.KeyURLError
	if err := cosign.KeyURL(s.key); errors.As(err, &service) {
		return who, usage(c, "--%s: %s names a key that krmcat does not ask for: cosign sign --key %s signs with it, and krmcat verifies that", keyName, s.key, s.key)
	} else if err != nil {
		return who, usage(c, "--%s: %v", keyName, err)
	}
	pem, err := e.readFile(e.abs(s.key), maxTrustFile)
	if err != nil {
		return who, mistake(err)
	}
	password, err := e.password(c, "Password of "+s.key+": ")
	if err != nil {
		return who, err
	}
	key, err := e.signs.LoadSigner(pem, password, forms...)
	if err != nil {
		return who, mistake(fmt.Errorf("%s: %w", s.key, err))
	}
	who.signer = key
	demand := cosign.Demand{Keys: []cosign.Key{{Name: s.key, PEM: key.PublicKey()}}, InsecureIgnoreTlog: true}
	if who.mine, err = e.cosign.Build(demand); err != nil {
		return who, err
	}
	demand.Annotations = who.claim.Annotations
	who.own, err = e.cosign.Build(demand)
	return who, err
}

// forms returns the forms that the flag requests.
func forms(c *cli.Context, s *signCall) ([]cosign.Form, error) {
	if s.key == "" {
		if s.format != "" && s.format != string(cosign.FormBundle) {
			return nil, usage(c, "--%s: without a key a signature is a bundle, not %s", signatureFormatName, s.format)
		}
		return []cosign.Form{cosign.FormBundle}, nil
	}
	if form := cmp.Or(s.format, bothForms); form != bothForms {
		return []cosign.Form{cosign.Form(form)}, nil
	}
	return []cosign.Form{cosign.FormLegacy, cosign.FormBundle}, nil
}

// signatureForms are the values of --signature-format.
func signatureForms() []string {
	return []string{string(cosign.FormBundle), string(cosign.FormLegacy), bothForms}
}

// keyless returns the signer for an identity.
func (e *env) keyless(c *cli.Context, s *signCall, r registry.Options) (cosign.Signer, error) {
	o := s.services
	o.Token = strings.TrimSpace(e.getenv(tokenVariable))
	if s.token != "" {
		data, err := e.readFile(e.abs(s.token), maxTrustFile)
		if errors.Is(err, fs.ErrNotExist) && strings.Count(s.token, ".") == 2 {
			return nil, usage(c, "--identity-token names a file: every user of this machine can read a token on the command line; or set %s", tokenVariable)
		}
		if err != nil {
			return nil, mistake(err)
		}
		o.Token = strings.TrimSpace(string(data))
	}
	if o.Token == "" {
		return nil, usage(c, "no signer is given: use --%s FILE or --identity-token FILE", keyName)
	}
	if s.root != "" {
		root, err := e.readFile(e.abs(s.root), maxTrustFile)
		if err != nil {
			return nil, mistake(err)
		}
		o.TrustedRoot = root
	}
	if err := e.consent(c, s); err != nil {
		return nil, err
	}
	// --insecure is for the registry only: the token is sent only to services with a valid
	// certificate.
	client, err := e.client(registry.Options{CAFile: r.CAFile})
	if err != nil {
		return nil, err
	}
	o.Transport = client.Transport()
	signer, err := e.signs.NewKeyless(o)
	return signer, mistake(err)
}

// consent asks for confirmation before publishing to a transparency log, which cannot be undone.
func (e *env) consent(c *cli.Context, s *signCall) error {
	what := "the identity in the token, an e-mail address for example, will be public in the log " + s.services.RekorURL + " for good"
	if s.yes {
		return nil
	}
	in, ok := e.Stdin.(*os.File)
	if !ok || !terminal(in) {
		return usage(c, "%s: confirm with --yes", what)
	}
	e.shown.Done()
	_, _ = fmt.Fprintf(e.errs, "%s%s. Sign? [y/N] ", strings.ToUpper(what[:1]), what[1:])
	answer, err := readLine(c.Context, in)
	if err != nil {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return usage(c, "nothing was signed")
	}
	return nil
}

// password returns the password of a key, from the environment or from the terminal.
func (e *env) password(c *cli.Context, prompt string) ([]byte, error) {
	if v, ok := e.lookupenv(passwordName); ok {
		return []byte(v), nil
	}
	in, ok := e.Stdin.(*os.File)
	if !ok || !terminal(in) {
		return nil, usage(c, "the password of the key cannot be asked for, since stdin is not a terminal: set %s", passwordName)
	}
	e.shown.Done()
	_, _ = fmt.Fprint(e.errs, prompt)
	defer func() { _, _ = fmt.Fprintln(e.errs) }()
	return readPassword(c.Context, in)
}
