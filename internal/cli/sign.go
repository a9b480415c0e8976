package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/internal/leave"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

// signCall has the values of the flags for signing.
type signCall struct {
	registry    registry.Options
	key         string
	format      string
	annotations cli.StringSlice
	token       string
	yes         bool
	root        string
	services    cosign.KeylessOptions
	output      outputCall
	pushing     bool // these are flags of push
}

// stray returns a flag for signing that is set although nothing is signed; "" for none.
func (s *signCall) stray() string {
	switch {
	case s.format != "":
		return signatureFormatName
	case s.token != "":
		return tokenName
	case len(s.annotations.Value()) > 0:
		return s.annotationFlag()
	}
	return ""
}

const (
	signatureFormatName = "signature-format"

	bothForms     = "both"
	passwordName  = "COSIGN_PASSWORD"
	tokenName     = "identity-token"
	tokenVariable = "SIGSTORE_ID_TOKEN" //nolint:gosec // the name of cosign's variable
	publicFulcio  = "https://fulcio.sigstore.dev"
	publicRekor   = "https://rekor.sigstore.dev"
)

// keyFlags returns the flags for the signer and the form of signatures.
func (s *signCall) keyFlags() []cli.Flag {
	return grouped(groupSigning,
		&cli.StringFlag{Name: keyName, Aliases: []string{"k"}, Usage: "sign with this encrypted private key of cosign, a `FILE`; $" + passwordName + " or a prompt gives the password", Destination: &s.key},
		&choiceFlag{
			StringFlag: &cli.StringFlag{Name: signatureFormatName, Usage: "`FORM` of the signature: bundle (cosign v3), legacy (cosign v2) or both (default: both with a key, else bundle)", Destination: &s.format},
			values:     signatureForms(),
		},
		&cli.StringFlag{Name: tokenName, Usage: "without a key: sign as the identity of the OIDC token in `FILE` (default: $" + tokenVariable + ")", Destination: &s.token},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "without a key: do not ask before the identity is published in the log, permanently", Destination: &s.yes},
		&cli.StringFlag{Name: "fulcio-url", Value: publicFulcio, Usage: "without a key: `URL` of the certificate authority", Destination: &s.services.FulcioURL},
		&cli.StringFlag{Name: "rekor-url", Value: publicRekor, Usage: "without a key: `URL` of the transparency log", Destination: &s.services.RekorURL},
		&cli.StringFlag{Name: "timestamp-url", Usage: "without a key: `URL` of a timestamp authority", Destination: &s.services.TSAURL},
		&cli.StringFlag{Name: rootName, Usage: "without a key: verify the new signature with the sigstore trusted root in `FILE` before it is written", Destination: &s.root},
	)
}

// annotationFlag returns the flag for annotations that are signed. In push, --annotation is for the
// artifact.
func (s *signCall) annotationFlag() string {
	if s.pushing {
		return "sign-annotation"
	}
	return "annotation"
}

func (e *env) signCommand() *cli.Command {
	s := &signCall{}
	return &cli.Command{
		Name: "sign", Args: true, ArgsUsage: "REF...",
		Usage: "sign what is in a registry or an OCI layout, as cosign does",
		Description: `Resolves each REF once and signs its digest, so a tag that moves later does not move a signature. The
manifests of an image index are signed too. With --key the signature is made offline. Without a key
an OIDC token says who signs, and sigstore's services issue the certificate and the log entry.
cosign verify and krmcat verify read both.`,
		Flags: slices.Concat(s.output.flags(ui.Data()), s.keyFlags(), grouped(groupSigning,
			&cli.StringSliceFlag{Name: "annotation", Aliases: []string{"a"}, Usage: "sign this annotation too, `KEY=VALUE`", Destination: &s.annotations},
		), connectionFlags(&s.registry)),
		Action: func(c *cli.Context) error { return e.sign(c, s) },
	}
}

// signedView lists what was signed.
type signedView struct {
	Ref    string      `json:"ref"` // with its digest
	Digest string      `json:"digest"`
	Signed []signedRow `json:"signed"`
	Notes  []string    `json:"notes,omitempty"` // the effect on signatures of others
}

// signedRow is one signature.
type signedRow struct {
	Digest    string `json:"digest"`             // of the manifest that was signed
	Platform  string `json:"platform,omitempty"` // of a manifest in an index
	Form      string `json:"form"`
	Signature string `json:"signature"` // digest of the manifest that carries it
	Before    bool   `json:"before"`    // it was there already
}

func (e *env) sign(c *cli.Context, s *signCall) error {
	if c.NArg() == 0 {
		return usage(c, "%s needs references", c.Command.HelpName)
	}
	var refs []reference.Locator
	for _, text := range c.Args().Slice() {
		l, err := place(c, text)
		if err != nil {
			return err
		}
		if l.Scheme != reference.SchemeOCI && l.Scheme != reference.SchemeLayout {
			return usage(c, "reference %q: only what is in a registry or an OCI layout can be signed", l.Display())
		}
		refs = append(refs, l)
	}
	client, err := e.client(s.registry)
	if err != nil {
		return err
	}
	who, err := e.signer(c, s, s.registry)
	if err != nil {
		return err
	}
	out, err := signAll(c.Context, client, who, refs)
	if len(out) > 0 || err == nil { // the signatures that were made are printed, even after an error
		err = errors.Join(err, e.showSigned(c, &s.output, out))
	}
	return err
}

// signAll signs until there is an error, and returns what was signed.
func signAll(ctx context.Context, client *registry.Client, who signing, refs []reference.Locator) ([]signedView, error) {
	var out []signedView
	for _, l := range refs {
		a, err := client.Resolve(ctx, l, registry.Want{Root: true})
		if err != nil {
			return out, err
		}
		v, err := signArtifact(ctx, client, who, a)
		if err != nil {
			return out, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (e *env) showSigned(c *cli.Context, o *outputCall, out []signedView) error {
	if o.format != "table" {
		return e.show(c, o, out)
	}
	var b strings.Builder
	for _, v := range out { // the only line, for scripts
		b.WriteString(v.Ref + "\n")
		e.tellSigned(v)
	}
	return e.put(o.place, []byte(b.String()))
}

func (e *env) tellSigned(v signedView) {
	for _, note := range v.Notes {
		e.warn(note)
	}
	for _, row := range v.Signed {
		word := "signed"
		if row.Before {
			word = "was signed already:"
		}
		e.note("%s %s%s: %s %s", word, row.Digest, prefixed(" for ", row.Platform), row.Form, row.Signature)
	}
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// signing has the signer, and what is signed with the digest.
type signing struct {
	signer cosign.Signer
	claim  cosign.Claim
	own    verify.Judge // judges signatures by the same key with the same content; nil without a key
	mine   verify.Judge // judges signatures by the same key; without a key no signature counts
	chosen bool         // --signature-format is set
}

// signArtifact signs the root of an artifact and the manifests of an index. The manifests are
// signed first, so that an interrupted command has not signed the index.
func signArtifact(ctx context.Context, client *registry.Client, s signing, a registry.Artifact) (signedView, error) {
	defer leave.Of(ctx).Hold()() // so that a layout stays complete, without temporary files
	v := signedView{Ref: a.Pinned().String(), Digest: a.Root.Digest.String()}
	children, err := client.Manifests(ctx, a)
	if err != nil {
		return v, err
	}
	all := slices.Concat(children, []ocispec.Descriptor{a.Root})
	before := make([]signedSoFar, len(all))
	for i, d := range all { // errors are reported before anything is signed
		if before[i], err = s.look(ctx, a, d); err != nil {
			return v, err
		}
	}
	for _, was := range before {
		rows, err := s.sign(ctx, client, a, was)
		v.Signed = append(v.Signed, rows...)
		if err != nil {
			return v, err
		}
		v.Notes = append(v.Notes, s.notes(was, rows)...)
	}
	return v, nil
}

// sign signs one manifest in each form that is missing and does not hide signatures of others.
func (s signing) sign(ctx context.Context, client *registry.Client, a registry.Artifact, was signedSoFar) ([]signedRow, error) {
	d := was.of
	s.claim.Digest = d.Digest
	if a.From.Scheme == reference.SchemeOCI { // a local path means nothing to others
		s.claim.Reference = a.From.Name
	}
	list, err := s.signer.Sign(ctx, s.claim)
	if err != nil {
		return nil, fmt.Errorf("signing %s: %w", a.Pinned().WithDigest(d.Digest).Display(), err)
	}
	var rows []signedRow
	for _, at := range list {
		if row, done := was.own[formOf(at)]; done {
			rows = append(rows, row)
			continue
		}
		if formOf(at) == string(cosign.FormBundle) && s.leavesOut(was) {
			continue
		}
		written, err := client.Attach(ctx, a.From, d, at)
		if err != nil {
			return rows, err
		}
		rows = append(rows, signedRow{d.Digest.String(), platformOf(d), formOf(at), written.Digest.String(), false})
	}
	return rows, nil
}

func platformOf(d ocispec.Descriptor) string {
	if d.Platform == nil {
		return ""
	}
	return d.Platform.OS + "/" + d.Platform.Architecture
}

func formOf(a registry.Attachment) string {
	if a.Tag != "" {
		return string(cosign.FormLegacy)
	}
	return string(cosign.FormBundle)
}
