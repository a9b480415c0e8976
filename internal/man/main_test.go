package main

import (
	"regexp"
	"strings"
	"testing"
)

// TestPage checks that the page has every command and flag, and that no text is a request of roff.
func TestPage(t *testing.T) {
	t.Parallel()
	text, err := page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		".SH krmcat\n", ".SH krmcat view catalog\n", ".SH krmcat completion fish\n", `\-\-certificate\-oidc\-issuer\-regexp REGEXP`, ".SS Exit codes\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	known := regexp.MustCompile(`^(\.(TH|SH|SS) .+|\.(PP|nf|fi))$`)
	asIs := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, ".") && !known.MatchString(line) || strings.HasPrefix(line, "'") {
			t.Errorf("a request: %q", line)
		}
		switch line {
		case ".nf":
			asIs++
		case ".fi":
			asIs--
		}
		if asIs < 0 || asIs > 1 {
			t.Fatalf(".nf and .fi do not match before %q", line)
		}
	}
	if got := roff(`.x-\`); got != `\&.x\-\e` {
		t.Errorf("%s", got)
	}
}
