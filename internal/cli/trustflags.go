package cli

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

// trustCall has the values of the flags that make a policy with one rule for everything.
type trustCall struct {
	policies       cli.StringSlice
	keys           cli.StringSlice
	identity       cosign.Identity
	trustedRoot    string
	annotations    cli.StringSlice
	ignoreTlog     bool
	ignoreSCT      bool
	requireDigests bool
}

// maxTrustFile limits the size of a key, a token or a trusted root, in bytes.
const maxTrustFile = 4 << 20

const (
	policyName     = "policy"
	keyName        = "key"
	identityName   = "certificate-identity"
	issuerName     = "certificate-oidc-issuer"
	rootName       = "trusted-root"
	ignoreTlogName = "insecure-ignore-tlog"
	ignoreSCTName  = "insecure-ignore-sct"
	annotationName = "require-annotation"
)

// flags returns the flags that make a policy.
func (t *trustCall) flags() []cli.Flag {
	return grouped(groupTrust,
		&cli.StringSliceFlag{Name: policyName, Usage: "require what the TrustPolicy in `FILE` states, in place of policy.yaml of the user's config; of several, all", Destination: &t.policies},
		&cli.StringSliceFlag{Name: keyName, Aliases: []string{"k"}, Usage: "require a signature by the public key in this PEM `FILE`; with several keys and identities, by one of them", Destination: &t.keys},
		&cli.StringFlag{Name: identityName, Usage: "require a signature whose certificate names this `IDENTITY`: an e-mail address or a URI", Destination: &t.identity.Subject},
		&cli.StringFlag{Name: identityName + "-regexp", Usage: "the same for identities that match `REGEXP` in full", Destination: &t.identity.SubjectRegExp},
		&cli.StringFlag{Name: issuerName, Usage: "`URL` of the issuer that attests the identity", Destination: &t.identity.Issuer},
		&cli.StringFlag{Name: issuerName + "-regexp", Usage: "the same for issuers that match `REGEXP` in full", Destination: &t.identity.IssuerRegExp},
		&cli.StringFlag{Name: rootName, Usage: "sigstore trusted root, a JSON `FILE`: certificate authorities, logs and timestamp authorities", Destination: &t.trustedRoot},
		&cli.StringSliceFlag{Name: annotationName, Usage: "require this annotation of signatures, `KEY=VALUE`", Destination: &t.annotations},
		&cli.BoolFlag{Name: "require-digests", Usage: "refuse whatever is not pinned by a digest", Destination: &t.requireDigests},
		&cli.BoolFlag{Name: ignoreTlogName, Usage: "do not check that signatures are in the transparency log of the trusted root", Destination: &t.ignoreTlog},
		&cli.BoolFlag{Name: ignoreSCTName, Usage: "do not check that certificates are in a certificate transparency log", Destination: &t.ignoreSCT},
	)
}

// trust returns the user's config, and the policy in force: its files and what the flags require. A
// config that cannot be read is an error.
func (e *env) trust(c *cli.Context, t *trustCall) (*userConfig, verify.Policy, error) {
	u, err := e.config()
	if err != nil {
		return u, verify.Policy{}, err
	}
	p, err := e.policy(c, t)
	return u, p, err
}

func (e *env) policy(c *cli.Context, t *trustCall) (verify.Policy, error) {
	p := verify.Policy{RequireDigests: t.requireDigests}
	reads := []func() (*verify.TrustPolicy, error){e.machinePolicy} // first: it applies always
	files, err := e.policyFiles(c, t)
	if err != nil {
		return p, err
	}
	for _, path := range files {
		reads = append(reads, func() (*verify.TrustPolicy, error) { return e.namedPolicy(path) })
	}
	if len(files) == 0 {
		reads = append(reads, e.userPolicy)
	}
	for _, read := range append(reads, func() (*verify.TrustPolicy, error) { return e.flagPolicy(c, t) }) {
		doc, err := read()
		if err != nil {
			return p, err
		}
		if doc != nil {
			p.Documents = append(p.Documents, doc)
		}
	}
	return p, nil
}

// policyFiles returns the files that the flag names, each once.
func (e *env) policyFiles(c *cli.Context, t *trustCall) ([]string, error) {
	var out []string
	for _, path := range t.policies.Value() {
		if path == "" {
			return nil, usage(c, "--%s is empty", policyName)
		}
		out = append(out, e.abs(path))
	}
	return unique(out), nil
}

// machinePolicy reads the policy of this machine, nil if there is none.
func (e *env) machinePolicy() (*verify.TrustPolicy, error) {
	files, err := e.machineFiles()
	if err != nil {
		return nil, err
	}
	doc, err := e.configuredPolicy(files)
	if doc != nil {
		doc.Machine = true
	}
	return doc, notTheirs(err)
}

// userPolicy reads the policy of the user, nil if there is none.
func (e *env) userPolicy() (*verify.TrustPolicy, error) {
	files, err := e.userFiles()
	if err != nil {
		return nil, err
	}
	return e.configuredPolicy(files)
}

// namedPolicy reads a policy that a flag names.
func (e *env) namedPolicy(path string) (*verify.TrustPolicy, error) {
	data, err := e.trustFile(path, verify.MaxPolicy)
	if err != nil {
		return nil, err
	}
	return e.decodePolicy(path, data, func(name string) ([]byte, error) { return e.trustFile(name, maxTrustFile) })
}

func (e *env) configuredPolicy(files *configDir) (*verify.TrustPolicy, error) {
	data, path, err := e.read(files, policyFile, verify.MaxPolicy)
	if err != nil || data == nil {
		return nil, err
	}
	return e.decodePolicy(path, data, func(name string) ([]byte, error) { return files.named(name, maxTrustFile) })
}

// decodePolicy decodes a policy. It reads the files that the policy names by read, relative to it.
func (e *env) decodePolicy(path string, data []byte, read verify.ReadFile) (*verify.TrustPolicy, error) {
	dir := filepath.Dir(path)
	d := verify.Decoder{Methods: e.methods(), Read: func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, filepath.FromSlash(name))
		}
		return read(name)
	}}
	return d.Decode(path, data)
}

// trustFile reads a file that a flag names, or that a policy of a flag names. If others can write
// to it, there is only a warning: in a container, a checkout often belongs to another user.
func (e *env) trustFile(path string, limit int64) ([]byte, error) {
	data, err := e.readFile(path, limit)
	if err != nil || handedOver(path) {
		return data, mistake(err)
	}
	var foreign *ownfile.ForeignError
	if _, err := ownfile.Mine().Resolve(path); errors.As(err, &foreign) {
		e.warn((&configDirError{path: path, err: err}).Error())
	}
	return data, nil
}

// flagPolicy returns the policy of the flags, nil if none is set.
func (e *env) flagPolicy(c *cli.Context, t *trustCall) (*verify.TrustPolicy, error) {
	demand, names, err := e.flagDemand(c, t)
	if err != nil || demand == nil {
		return nil, err
	}
	j, err := e.cosign.Build(*demand)
	if err != nil {
		return nil, inFlags(c, err, demand)
	}
	every, err := reference.ParsePattern("**")
	if err != nil {
		return nil, fmt.Errorf("the policy of the flags: %w", err)
	}
	d := &verify.Demand{Signatures: []*verify.Signed{{Method: e.cosign.Name(), Judge: j, Where: names}}}
	return &verify.TrustPolicy{Name: names, Rules: []verify.Rule{{
		Match: []reference.Pattern{every}, Catalogs: d, Runtimes: d, Where: names,
	}}}, nil
}

// inFlags returns an error about a demand with the names of flags. An error that is not about the
// demand is returned as it is.
func inFlags(c *cli.Context, err error, d *cosign.Demand) error {
	var e *cosign.DemandError
	if !errors.As(err, &e) {
		return err
	}
	flags := map[string]string{
		"trustedRoot": "--" + rootName, "insecureIgnoreTlog": "--" + ignoreTlogName, "insecureIgnoreSCT": "--" + ignoreSCTName,
		"insecureIgnoreTimestamp": "insecureIgnoreTimestamp: true in a --" + policyName,
		"identities[0]":           "--" + identityName,
	}
	for i, key := range d.Keys {
		flags[fmt.Sprintf("keys[%d]", i)] = "--" + keyName + " " + key.Name
	}
	return usage(c, "%s: %s", cmp.Or(flags[e.Field], e.Field), e.Text(flags[e.Waiver]))
}

// wholeIdentity refuses an identity of which a part is missing, or is given in both ways.
func wholeIdentity(c *cli.Context, id cosign.Identity) error {
	for _, part := range []struct{ value, regExp, flag, other string }{
		{id.Subject, id.SubjectRegExp, identityName, issuerName},
		{id.Issuer, id.IssuerRegExp, issuerName, identityName},
	} {
		switch {
		case part.value == "" && part.regExp == "":
			return usage(c, "--%s needs --%s too (or --%s-regexp)", part.other, part.flag, part.flag)
		case part.value != "" && part.regExp != "":
			return usage(c, "--%s and --%s-regexp exclude each other", part.flag, part.flag)
		}
	}
	return nil
}

// flagDemand reads the flags, and the files that they name. names lists the flags for messages.
func (e *env) flagDemand(c *cli.Context, t *trustCall) (*cosign.Demand, string, error) {
	d := &cosign.Demand{InsecureIgnoreTlog: t.ignoreTlog, InsecureIgnoreSCT: t.ignoreSCT}
	var names []string
	for _, path := range t.keys.Value() {
		if path == "" {
			return nil, "", usage(c, "--%s is empty", keyName)
		}
		if err := cosign.KeyURL(path); err != nil {
			return nil, "", usage(c, "--%s: %v", keyName, err)
		}
		pem, err := e.trustFile(e.abs(path), maxTrustFile)
		if err != nil {
			return nil, "", err
		}
		name := filepath.Base(path)
		if slices.ContainsFunc(d.Keys, func(k cosign.Key) bool { return k.Name == name }) {
			name = path // most keys of cosign are called cosign.pub
		}
		d.Keys = append(d.Keys, cosign.Key{Name: name, PEM: pem})
		names = append(names, "--"+keyName)
	}
	if !t.identity.IsZero() {
		if err := wholeIdentity(c, t.identity); err != nil {
			return nil, "", err
		}
		d.Identities = []cosign.Identity{t.identity}
		names = append(names, "--"+identityName)
	}
	var err error
	if d.Annotations, err = annotations(c, annotationName, t.annotations.Value()); err != nil {
		return nil, "", err
	}
	if t.trustedRoot != "" {
		if d.TrustedRoot, err = e.trustFile(e.abs(t.trustedRoot), maxTrustFile); err != nil {
			return nil, "", err
		}
	}
	if len(names) == 0 {
		if t.trustedRoot != "" || len(d.Annotations) > 0 || t.ignoreTlog || t.ignoreSCT {
			return nil, "", usage(c, "--%s, --%s, --%s and --%s need a signer: add --%s FILE or --%s",
				rootName, annotationName, ignoreTlogName, ignoreSCTName, keyName, identityName)
		}
		return nil, "", nil
	}
	if t.trustedRoot == "" {
		// Without a root there is no log to check. The evidence says so.
		d.InsecureIgnoreTlog = true
	}
	return d, "flags " + strings.Join(unique(names), " "), nil
}
