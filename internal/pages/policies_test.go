package pages

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// decoder returns a decoder of policies. Every file that a policy names is a key of its own, or a
// trusted root.
func decoder(t *testing.T) verify.Decoder {
	t.Helper()
	root := sigtest.New(t).TrustedRoot()
	return verify.Decoder{Methods: []verify.Method{cosign.New(judge.Dial)}, Read: func(name string) ([]byte, error) {
		if strings.HasSuffix(name, ".json") {
			return root, nil
		}
		_, public, err := cosign.New(judge.Dial).GenerateKey("ed25519", nil)
		return public, err
	}}
}

func TestPoliciesOnThePagesAreRead(t *testing.T) {
	t.Parallel()
	d := decoder(t)
	for _, name := range []string{"docs/formats.md", "docs/trust/policies.md", fieldsPage, rulesPage} {
		found := 0
		for _, b := range blocks(page(t, name)) {
			if !strings.HasPrefix(b.info, "yaml policy") {
				continue
			}
			found++
			if _, err := d.Decode(name, []byte(b.text)); err != nil {
				t.Errorf("the policy at line %d: %v", b.line, err)
			}
		}
		if found == 0 {
			t.Errorf("%s shows no policy", name)
		}
	}
}

// fieldsIn returns the names in the first column of the table below a heading.
func fieldsIn(text, heading string) []string {
	_, text, _ = strings.Cut(text, "\n| "+heading+" |")
	table, _, _ := strings.Cut(text, "\n\n")
	var out []string
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-zA-Z]+)`").FindAllStringSubmatch(table, -1) {
		out = append(out, m[1])
	}
	slices.Sort(out)
	return out
}

// TestFieldsOnThePageAreThoseOfTheCode checks that the tables of fields are complete. The error
// about an unknown field lists the fields of the code.
func TestFieldsOnThePageAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	d := decoder(t)
	for heading, rule := range map[string]string{
		"field of a rule":           "unheardOf: 1",
		"field of the requirements": "catalogs: {unheardOf: 1}",
		"field of `cosign`":         "catalogs: {cosign: {unheardOf: 1}}",
	} {
		_, err := d.Decode("x", []byte("apiVersion: krmcat.dev/v1alpha1\nkind: TrustPolicy\nspec: {rules: [{match: '**', "+rule+"}]}\n"))
		var wrong *verify.PolicyError
		if !errors.As(err, &wrong) {
			t.Fatalf("%s: %v", heading, err)
		}
		_, list, _ := strings.Cut(wrong.Msg, "known are ")
		known := strings.Split(list, ", ")
		slices.Sort(known)
		if diff := cmp.Diff(known, fieldsIn(page(t, fieldsPage), heading)); diff != "" {
			t.Errorf("the table %q:\n%s", heading, diff)
		}
	}
}

// TestPatternsOnThePageMatch checks that the patterns of the page can be parsed, and match what the
// page says.
func TestPatternsOnThePageMatch(t *testing.T) {
	t.Parallel()
	const oci = "oci://registry.example.com/team/"
	samples := map[string][2]string{ // a reference that matches, and one that does not
		oci + "catalog":                       {oci + "catalog:v1", oci + "catalog/more"},
		oci + "catalog:v1":                    {oci + "catalog:v1", oci + "catalog"},
		oci + "*":                             {oci + "catalog:v1", oci + "a/catalog:v1"},
		oci + "**":                            {oci + "a/catalog:v1", "oci://registry.example.com/team:v1"},
		"oci://*.example.com/team/fn-*:v*":    {"oci://eu.example.com/team/fn-a:v1", "oci://a.eu.example.com/team/fn-a:v1"},
		"https://example.com/catalogs/*.yaml": {"https://example.com/catalogs/a.yaml", "https://example.com/catalogs/a/b.yaml"},
		"/home/you/shop/**":                   {"/home/you/shop/a/b.yaml", "/home/you/other/b.yaml"},
		"file:///home/you/shop/**":            {"/home/you/shop/b.yaml", "/home/you/b.yaml"},
		"oci-layout:///home/you/shop/store:*": {"oci-layout:///home/you/shop/store:v1", "oci-layout:///home/you/shop/other:v1"},
		"**":                                  {"https://example.org/x", ""},
	}
	_, table, _ := strings.Cut(page(t, rulesPage), "| written | matches |")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.Lines(table) {
		columns := strings.Split(row, "|")
		if len(columns) < 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(columns[1], -1) {
			p, err := reference.ParsePattern(m[1])
			if err != nil {
				t.Errorf("%s: %v", m[1], err)
				continue
			}
			want, listed := samples[m[1]]
			if !listed {
				t.Errorf("no sample matches the pattern %s", m[1])
			}
			delete(samples, m[1])
			for i, text := range want {
				l, err := reference.Parse(text)
				if text != "" && (err != nil || p.Match(l) != (i == 0)) {
					t.Errorf("%s matches %s: %v, %v", m[1], text, p.Match(l), err)
				}
			}
		}
	}
	if len(samples) > 0 {
		t.Errorf("the page does not show these patterns: %v", samples)
	}
}

// The config on the page is read, and shown as it is written.
func TestConfigOnThePageIsRead(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	var want []string
	for _, b := range blocks(page(t, "docs/formats.md")) {
		if b.info == "yaml config" {
			h.write(t, ".config/krmcat/config.yaml", b.text)
			for _, m := range regexp.MustCompile(`(?m)^- (.+)$`).FindAllStringSubmatch(b.text, -1) {
				want = append(want, regexp.MustCompile("sha256:[0-9a-f]{64}").ReplaceAllString(m[1], "sha256:…"))
			}
		}
	}
	out, code := h.run(t, h.krmcat, "config", "view", "--format", "json")
	var view struct{ TrustedCatalogs []struct{ Ref string } }
	if err := json.Unmarshal([]byte(out), &view); err != nil || code != 0 {
		t.Fatalf("%d, %v: %s", code, err, out)
	}
	var got []string
	for _, c := range view.TrustedCatalogs {
		got = append(got, c.Ref)
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) == 0 {
		t.Errorf("docs/formats.md:\n%s", diff)
	}
}
