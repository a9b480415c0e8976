package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
)

func (e *env) configCommand() *cli.Command {
	return &cli.Command{
		Name: "config", Usage: "say which catalogs are trusted without a flag, and show the policy in force",
		Description: `The user's config is in $XDG_CONFIG_HOME/krmcat, or ~/.config/krmcat: config.yaml lists the catalogs
that are trusted in every target, policy.yaml is the TrustPolicy of render, verify and view. krmcat
never reads either from the files that it renders.`,
		Subcommands: []*cli.Command{e.configTrustCommand(), e.configUntrustCommand(), e.configViewCommand()},
		Action:      func(c *cli.Context) error { return e.noCommand(c) },
	}
}

func (e *env) configTrustCommand() *cli.Command {
	var o registry.Options
	var pin bool
	return &cli.Command{
		Name: "trust", Args: true, ArgsUsage: "CATALOG",
		Usage: "trust a catalog in every target that declares it",
		Description: `CATALOG is a reference, such as oci://registry.example.com/functions/catalog:v1, or a pattern: *
matches within one segment of a path, ** matches segments. Without a tag it means latest; :* means
any tag. With @sha256:… only that content is trusted, and a target that declares another tag has to
name the digest too.

A catalog at an https URL is trusted by its checksum, which is looked up and written down. What is
served there later is refused until it is trusted again.`,
		Flags: slices.Concat(grouped(groupTrust,
			&cli.BoolFlag{Name: "pin", Usage: "look up the digest of the catalog, and trust only that", Destination: &pin},
		), connectionFlags(&o)),
		Action: func(c *cli.Context) error { return e.configTrust(c, o, pin) },
	}
}

// mayHoldCatalog returns an error for a local file or directory that cannot be a catalog.
func mayHoldCatalog(l reference.Locator) error {
	info, err := os.Stat(l.Name)
	if err != nil {
		return &notThereError{path: l.Name, err: err}
	}
	if l.Scheme == reference.SchemeFile && info.IsDir() {
		kind := &ownfile.KindError{Path: l.Name, Mode: info.Mode()}
		return fmt.Errorf("%w; a catalog in an OCI layout is oci-layout://%s:TAG", kind, l.Name)
	}
	return nil
}

func (e *env) configTrust(c *cli.Context, o registry.Options, pin bool) error {
	ref, err := oneArg(c, "catalog")
	if err != nil {
		return err
	}
	pattern, err := e.trustPattern(c, ref)
	if err != nil {
		return err
	}
	if l, err := reference.Parse(pattern.String()); err == nil && l.Local() && pattern.Exact() {
		if err := mayHoldCatalog(l); err != nil {
			return err
		}
	}
	text := pattern.String()
	https := overHTTP(text)
	switch {
	case !pattern.Exact() && https:
		return usage(c, "%s: a catalog at an https URL is trusted by its checksum: give its URL, not a pattern", ref)
	case !pattern.Exact() && pin:
		return usage(c, "--pin: %s is not one place", ref)
	case !pattern.Exact():
		e.warn(text + " trusts whatever is published there, now and later")
	case pin || https:
		if text, err = e.withDigest(c, o, text); err != nil {
			return err
		}
	}
	return e.edit(c.Context, func(u *userConfig) error {
		before := u.trust(text)
		if before == text {
			e.note("%s trusts it already", u.path)
			return e.write([]byte(text + "\n"))
		}
		if err := u.save(e); err != nil {
			return err
		}
		switch {
		case strings.Contains(before, "@sha256:"):
			e.warn("it takes the place of " + before)
		case before != "":
			e.note("in place of %s", before)
		}
		e.note("written to %s", u.path)
		return e.write([]byte(text + "\n"))
	})
}

// overHTTP reports whether a place is a URL of a file.
func overHTTP(ref string) bool {
	return strings.HasPrefix(ref, "https://") || strings.HasPrefix(ref, "http://")
}

// trustPattern parses a reference or pattern to trust. A local path becomes absolute.
func (e *env) trustPattern(c *cli.Context, ref string) (reference.Pattern, error) {
	if !strings.Contains(ref, "*") {
		l, err := place(c, ref)
		if err != nil {
			return reference.Pattern{}, err
		}
		ref = l.At(e.Dir).String()
		if l.Scheme == reference.SchemeFile {
			ref = "file://" + strings.TrimPrefix(ref, "file://")
		}
	}
	p, err := reference.ParsePattern(ref)
	if err != nil {
		return p, usage(c, "%v", err)
	}
	return p, nil
}

// withDigest resolves a place and pins it to the digest.
func (e *env) withDigest(c *cli.Context, o registry.Options, ref string) (string, error) {
	l, err := reference.Parse(ref)
	if err != nil {
		return "", usage(c, "%v", err)
	}
	f, err := e.catalog(c.Context, o, l)
	if err != nil {
		return "", err
	}
	return unpinned(ref) + "@" + f.artifact.Root.Digest.String(), nil
}

func (e *env) configUntrustCommand() *cli.Command {
	return &cli.Command{
		Name: "untrust", Args: true, ArgsUsage: "CATALOG",
		Usage:       "stop trusting a catalog",
		Description: "CATALOG is an entry that config view lists, with or without its digest.",
		Action: func(c *cli.Context) error {
			ref, err := oneArg(c, "catalog")
			if err != nil {
				return err
			}
			return e.edit(c.Context, func(u *userConfig) error { return e.untrust(c, u, ref) })
		},
	}
}

func (e *env) untrust(c *cli.Context, u *userConfig, ref string) error {
	gone := u.untrust(ref)
	p, err := e.trustPattern(c, ref)
	if len(gone) == 0 && err == nil {
		gone = u.untrust(p.String())
	}
	if len(gone) == 0 {
		return &notListedError{ref, u.path}
	}
	if err := u.save(e); err != nil {
		return err
	}
	e.note("taken out of %s", u.path)
	if l, perr := reference.Parse(gone[0]); perr == nil {
		for _, c := range u.catalogs {
			if !c.Pattern.Exact() && c.Pattern.Match(l) {
				e.warn(fmt.Sprintf("%s (%s) still trusts it", c.Pattern, c.Where))
			}
		}
	}
	return e.write([]byte(strings.Join(gone, "\n") + "\n"))
}

// notListedError reports that a catalog is not in the config.
type notListedError struct{ ref, path string }

func (e *notListedError) Error() string {
	return e.ref + " is not among the trusted catalogs of " + e.path
}

// Is implements the kind of the error for errors.Is.
func (*notListedError) Is(kind error) bool { return kind == failure.NotFound }

// Details implements failure.Detailed.
func (*notListedError) Details() failure.Details { return failure.Details{Try: "krmcat config view"} }

// configView is the configuration in force.
type configView struct {
	Config         string         `json:"config"` // its path, even if there is no file
	Official       string         `json:"officialCatalog,omitempty"`
	Machine        string         `json:"machinePolicy,omitempty"` // its path, if there is one
	Catalogs       []trustedEntry `json:"trustedCatalogs"`
	Policies       []policyView   `json:"policies"`
	RequireDigests bool           `json:"requireDigests"`
	Runtime        string         `json:"runtime,omitempty"`
	Confine        string         `json:"confine,omitempty"`
	Stage          string         `json:"stage,omitempty"`
	FailOn         string         `json:"failOn,omitempty"`
	VerifyCache    bool           `json:"verifyCache,omitempty"`
	Notes          []string       `json:"notes,omitempty"` // notes on the policies
}

type trustedEntry struct {
	Ref    string `json:"ref"`
	Where  string `json:"where"`
	Pinned bool   `json:"pinned"`
}

// auditMode is the mode of a policy that only reports.
const auditMode = "audit"

// policyView is a policy with its rules in words.
type policyView struct {
	Name  string     `json:"name"`
	Mode  string     `json:"mode"` // enforce or audit
	Rules []ruleView `json:"rules"`
}

type ruleView struct {
	Where     string   `json:"where"`
	Match     []string `json:"match"`
	Functions []string `json:"functions,omitempty"`
	Reach     []string `json:"reach,omitempty"`
	Catalogs  string   `json:"catalogs,omitempty"`
	Runtimes  string   `json:"runtimes,omitempty"`
	Deny      string   `json:"deny,omitempty"` // why
}

func (e *env) configViewCommand() *cli.Command {
	o := &outputCall{}
	t := &trustCall{}
	return &cli.Command{
		Name: "view", Usage: "show the trusted catalogs, and the policy in force with these flags",
		Flags: append(o.flags(ui.Data()), t.flags()...),
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usage(c, "%s takes no arguments", c.Command.HelpName)
			}
			u, policy, err := e.trust(c, t)
			if err != nil {
				return err
			}
			v := newConfigView(u, e.Official, policy)
			if files, err := e.machineFiles(); err == nil && slices.Contains(files.names, policyFile) {
				v.Machine = under(files.dir, policyFile)
			}
			return e.show(c, o, v)
		},
	}
}

func newConfigView(u *userConfig, official string, p verify.Policy) configView {
	v := configView{
		Config: u.path, Official: official, Catalogs: []trustedEntry{}, Policies: []policyView{}, RequireDigests: p.RequireDigests,
		Runtime: u.runtime, Confine: u.confine, Stage: u.stage, FailOn: u.failOn, VerifyCache: u.verifyCache,
	}
	for _, c := range u.catalogs {
		text := c.Pattern.String()
		v.Catalogs = append(v.Catalogs, trustedEntry{text, c.Where, strings.Contains(text, "@sha256:")})
	}
	for _, doc := range p.Documents {
		v.Policies = append(v.Policies, newPolicyView(doc))
		v.Notes = append(v.Notes, doc.Notes(time.Now())...)
	}
	return v
}

func newPolicyView(doc *verify.TrustPolicy) policyView {
	out := policyView{Name: doc.Name, Mode: doc.Mode(), Rules: []ruleView{}}
	for _, r := range doc.Rules {
		row := ruleView{Where: r.Where, Catalogs: r.Catalogs.String(), Runtimes: r.Runtimes.String(), Deny: r.Deny}
		for _, m := range r.Match {
			row.Match = append(row.Match, m.String())
		}
		for _, f := range r.Functions {
			row.Functions = append(row.Functions, f.String())
		}
		for _, a := range r.Reach {
			row.Reach = append(row.Reach, string(a))
		}
		out.Rules = append(out.Rules, row)
	}
	return out
}

// columns returns the cells of a rule in the table.
func (r ruleView) columns() []string {
	match := strings.Join(r.Match, " ")
	if len(r.Functions) > 0 {
		match += ", of " + strings.Join(r.Functions, " ")
	}
	if len(r.Reach) > 0 {
		match += ", that ask for " + strings.Join(r.Reach, " or ")
	}
	if r.Deny != "" {
		catalogs := "denied: " + r.Deny
		if len(r.Functions)+len(r.Reach) > 0 { // a rule for runtimes
			catalogs = "-"
		}
		return []string{r.Where, match, catalogs, "denied: " + r.Deny}
	}
	return []string{r.Where, match, cmp.Or(r.Catalogs, "-"), cmp.Or(r.Runtimes, "-")}
}

// Table implements ui.Tabler.
func (v configView) Table() ui.Table {
	t := ui.Table{Facts: [][2]string{{"Machine policy", v.Machine}, {"Config", v.Config}, {"Official catalog", v.Official}}}
	for _, c := range v.Catalogs {
		t.Facts = append(t.Facts, [2]string{"Trusted catalog", c.Ref})
	}
	for _, s := range [][2]string{{"runtime", v.Runtime}, {"confine", v.Confine}, {"stage", v.Stage}, {"failOn", v.FailOn}} {
		if s[1] != "" {
			t.Facts = append(t.Facts, [2]string{"Setting", s[0] + ": " + s[1]})
		}
	}
	if v.VerifyCache {
		t.Facts = append(t.Facts, [2]string{"Setting", verifyCacheField + ": true"})
	}
	t.Header = []string{"POLICY RULE", "MATCH", "CATALOGS", "RUNTIMES"}
	for _, p := range v.Policies {
		for _, r := range p.Rules {
			t.Rows = append(t.Rows, r.columns())
		}
		if p.Mode == auditMode {
			t.Facts = append(t.Facts, [2]string{"Tried out", p.Name + ": what it would refuse is used and reported"})
		}
	}
	if len(v.Catalogs) == 0 && v.Official == "" {
		t.Notes = append(t.Notes, "No catalog is trusted without a flag.")
	}
	if v.RequireDigests {
		t.Facts = append(t.Facts, [2]string{"Digests", "nothing is used that is not pinned by one"})
	}
	for _, n := range v.Notes {
		t.Notes = append(t.Notes, "Note: "+n)
	}
	if len(v.Policies) == 0 && !v.RequireDigests {
		t.Notes = append(t.Notes, "There is no policy: trusted catalogs vouch for what they name, programs need a digest.")
	}
	return t
}
