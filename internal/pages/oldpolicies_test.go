package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOldPolicies checks that policies written before policies got more fields still decode, and
// require the same as before. words.txt has their requirements from that time.
func TestOldPolicies(t *testing.T) {
	t.Parallel()
	d := decoder(t)
	files, err := filepath.Glob("testdata/policies/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d policies, %v", len(files), err)
	}
	var b strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := d.Decode(filepath.Base(file), data)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, r := range p.Rules {
			fmt.Fprintf(&b, "%s %v: catalogs %q, runtimes %q\n", r.Where, r.Match, r.Catalogs, r.Runtimes)
		}
	}
	got := regexp.MustCompile("sha256:[0-9a-f]{12}…").ReplaceAllString(b.String(), "sha256:…")
	want, err := os.ReadFile("testdata/policies/words.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}
