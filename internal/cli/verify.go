package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/verify"
)

// verifyCall has the values of the flags of verify.
type verifyCall struct {
	registry  registry.Options
	trust     trustCall
	recursive bool
	output    outputCall
}

func (e *env) verifyCommand() *cli.Command {
	v := &verifyCall{}
	return &cli.Command{
		Name: "verify", Args: true, ArgsUsage: "REF...",
		Usage: "verify signatures and digests, and show the evidence",
		Description: `Decides as render does whether each REF may be used: by the policy in force, which is --policy or
else policy.yaml of the user's config, and by what the other flags require. Signatures are read as
cosign stores them, as sigstore bundles or under the tag sha256-HEX.sig, from registries and OCI
layouts, and are verified offline.

Without a policy, it lists the signatures with what they claim, and trusts nothing. The exit code is
4 if something is not trusted, else 6 if something was not found, or 7 if it could not be checked.`,
		Flags: slices.Concat(grouped(groupInput,
			&cli.BoolFlag{Name: "recursive", Aliases: []string{"r"}, Usage: "verify every runtime too that a catalog names, for every platform", Destination: &v.recursive},
		), v.output.flags(ui.Data()), v.trust.flags(), connectionFlags(&v.registry)),
		Action: func(c *cli.Context) error { return e.verify(c, v) },
	}
}

func (e *env) verify(c *cli.Context, v *verifyCall) error {
	if c.NArg() == 0 {
		return usage(c, "%s needs references", c.Command.HelpName)
	}
	o := render.AuditOptions{Recursive: v.recursive}
	for _, text := range c.Args().Slice() {
		l, err := place(c, text)
		if err != nil {
			return err
		}
		o.Refs = append(o.Refs, l.At(e.Dir))
	}
	u, policy, err := e.trust(c, &v.trust)
	if err != nil {
		return err
	}
	o.ConfigTrusted, o.Policy = u.catalogs, policy
	progress := e.shown
	renderer, err := e.renderer(v.registry, notify(progress))
	if err != nil {
		return err
	}
	list, err := renderer.Audit(c.Context, o)
	if err != nil {
		return err
	}
	for _, a := range list {
		for _, s := range a.Signatures {
			progress.Say(fmt.Sprintf("%s: %s signature in manifest %s: %s", a.Ref, s.Form, s.Manifest, signatures([]verify.Signature{s})))
		}
	}
	progress.Done()
	return errors.Join(auditError(list), e.show(c, &v.output, verifiedView(list)))
}

// auditError returns the errors of what is not trusted or could not be verified.
func auditError(list []render.Audited) error {
	var errs []error
	for _, a := range list {
		var untrusted *verify.UntrustedError
		if errors.As(a.Err, &untrusted) && untrusted.Flag == "" && untrusted.NoRule {
			untrusted.Flag = "--" + keyName + " FILE or --policy FILE"
		}
		switch {
		case a.Err == nil:
		case a.Problem != "":
			errs = append(errs, &uncheckedError{a.Err})
		default:
			errs = append(errs, a.Err)
		}
	}
	return errors.Join(errs...)
}

// because formats the reasons. Those of single signatures are only counted, since they are listed
// with the signatures.
func because(a render.Audited) string {
	out := slices.Clone(a.Because)
	if n := len(a.Reasons) - len(out); n > 0 {
		out = append(out, fmt.Sprintf("rejected signatures: %d", n))
	}
	return strings.Join(out, "\n")
}

// uncheckedError reports that something could not be verified, for any reason.
type uncheckedError struct{ err error }

func (e *uncheckedError) Error() string { return e.err.Error() }

// Is implements the kind of the error for errors.Is.
func (*uncheckedError) Is(kind error) bool { return kind == failure.Unreachable }

// Unwrap returns the cause.
func (e *uncheckedError) Unwrap() error { return e.err }

// verifiedView lists what was verified.
type verifiedView []render.Audited

// Table implements ui.Tabler.
func (v verifiedView) Table() ui.Table {
	const verdictFact = 4 // its index among the facts of a reference
	t := ui.Table{Colours: map[int]ui.Colour{}}
	for i, a := range v {
		if i > 0 {
			t.Facts = append(t.Facts, [2]string{})
		}
		verdict, colour := "trusted", ui.Good
		switch {
		case a.Problem != "":
			verdict, colour = "could not be verified: "+a.Problem, ui.Doubtful
		case !a.Trusted && a.Audit:
			verdict, colour = "NOT TRUSTED, by policies that only report", ui.Doubtful
		case !a.Trusted:
			verdict, colour = "NOT TRUSTED", ui.Bad
		}
		t.Colours[len(t.Facts)+verdictFact] = colour
		t.Facts = append(t.Facts,
			[2]string{"Reference", a.Ref}, [2]string{"Kind", a.Kind},
			[2]string{"Named by", a.By}, [2]string{"Runtime of", strings.Join(a.Functions, ", ")},
			[2]string{"Verdict", verdict},
			[2]string{"Evidence", strings.TrimSpace(evidence(a.Evidence))},
			[2]string{"Because", because(a)},
			[2]string{"Signatures", signatures(a.Signatures)},
			[2]string{"Note", a.Note},
		)
	}
	return t
}

// shortened limits a text to a readable length; --format json has all of it.
func shortened(s string) string {
	const shown = 200
	if runes := []rune(s); len(runes) > shown {
		return string(runes[:shown]) + "…"
	}
	return s
}

// signatures lists signatures, a line for each. If several sections of policies judged them, each
// line has the section. Signatures that no section requires are only counted.
func signatures(list []verify.Signature) string {
	several := slices.ContainsFunc(list, func(s verify.Signature) bool { return s.Section != list[0].Section })
	var lines, unchecked []string
	for _, s := range list {
		line := "verified: " + s.String()
		switch {
		case s.Verified:
		case s.Section == "":
			unchecked = append(unchecked, s.Form+" signature, "+claimedBy(s))
			continue
		default:
			line = fmt.Sprintf("rejected: claims to be by %s: %s", s, cmp.Or(s.Reason, "no reason is known"))
		}
		if several && s.Section != "" {
			line = s.Section + ": " + line
		}
		if len(s.Annotations) > 0 {
			line += " {" + shortened(pairs(s.Annotations)) + "}"
		}
		if !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	for _, text := range unique(unchecked) {
		n := 0
		for _, one := range unchecked {
			if one == text {
				n++
			}
		}
		lines = append(lines, fmt.Sprintf("not checked (no --%s or --%s given): %d %s", keyName, policyName, n, text))
	}
	return strings.Join(lines, "\n")
}

// claimedBy returns the signer that a signature claims.
func claimedBy(s verify.Signature) string {
	text := "key unknown"
	switch {
	case s.Identity != "":
		text = "claims to be by " + s.Identity + " (" + s.Issuer + ")"
	case s.Key != "":
		text = "key " + shortDigests(s.Key)
	}
	if len(s.Annotations) > 0 {
		text += " {" + shortened(pairs(s.Annotations)) + "}"
	}
	return text
}
