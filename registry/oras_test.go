package registry_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// TestProgramsOfOras reads programs pushed by oras: testdata/oras/make.sh wrote the layout.
func TestProgramsOfOras(t *testing.T) {
	t.Parallel()
	const amd64, arm64 = "#!/bin/sh\ncat\n", "#!/bin/sh\ncat; true\n"
	c := newClient(t, registry.Options{})
	for _, test := range []struct{ tag, platform, want string }{
		{"plain-amd64", "linux/amd64", amd64},
		{"platform-arm64", "linux/arm64", arm64},
		{"typed-arm64", "linux/arm64", arm64},
		{"platform", "linux/amd64", amd64},
		{"platform", "linux/arm64", arm64},
		{"typed", "linux/amd64", amd64},
		{"typed", "linux/arm64", arm64},
		{"plain", "linux/amd64", ""},
		{"platform", "linux/s390x", ""},
	} {
		at := mustParse(t, "oci-layout://testdata/oras/layout:"+test.tag)
		a, err := c.Resolve(t.Context(), at, registry.Want{Role: mediatypes.RoleExec, Platform: test.platform})
		var none *registry.PlatformError
		if test.want == "" {
			if !errors.As(err, &none) || strings.Contains(none.Error(), "the 2 entries of its index have no platform") != (test.tag == "plain") {
				t.Errorf("%s for %s: %v", test.tag, test.platform, err)
			}
			continue
		}
		if err != nil || a.Role != mediatypes.RoleExec {
			t.Errorf("%s for %s: %q, %v", test.tag, test.platform, a.Role, err)
			continue
		}
		if data, err := a.ReadFile(t.Context(), 0); err != nil || string(data) != test.want {
			t.Errorf("%s for %s: %q, %v", test.tag, test.platform, data, err)
		}
		if _, err := c.Resolve(t.Context(), at, registry.Want{Role: mediatypes.RoleContainer, Platform: test.platform}); err == nil {
			t.Errorf("%s for %s is a container image, too", test.tag, test.platform)
		}
	}
}
