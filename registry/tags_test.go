package registry_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/registry"
)

// TestTagsThatExist asks for tags that do not exist: the error has those that do, without those of
// signatures.
func TestTagsThatExist(t *testing.T) {
	t.Parallel()
	reg := regtest.Start(t, regtest.Options{})
	mute := regtest.ServeProxy(t, reg, regtest.On("/tags/", regtest.Fail(http.StatusForbidden, "")))
	c := newClient(t, registry.Options{})
	push := func(ref string) {
		t.Helper()
		if _, err := c.Push(t.Context(), mustParse(t, ref), bundles()["catalog"]); err != nil {
			t.Fatal(err)
		}
	}
	layout := "oci-layout://" + t.TempDir() + "/layout"
	const signature = "sha256-0000000000000000000000000000000000000000000000000000000000000000.sig"
	for _, base := range []string{"oci://" + reg.Host + "/few", layout} {
		for _, tag := range []string{"v2", "v1", signature} {
			push(base + ":" + tag)
		}
	}
	many := []string{"…"}
	for i := range 30 {
		tag := fmt.Sprintf("v1.%02d", i)
		push("oci://" + reg.Host + "/many:" + tag)
		if i >= 10 {
			many = append(many, tag)
		}
	}
	none := "sha256:" + strings.Repeat("0", 64)
	for _, tt := range []struct {
		ref, reason string
		have        []string
	}{
		{layout + ":v9", "", []string{"v1", "v2"}},
		{"oci://" + reg.Host + "/few:v9", "", []string{"v1", "v2"}},
		{"oci://" + reg.Host + "/few", "", []string{"v1", "v2"}},
		{"oci://" + reg.Host + "/few@" + none, "", nil},
		{"oci://" + reg.Host + "/many:v9", "", many},
		{"oci://" + reg.Host + "/gone:v1", "there is no repository of this name, or it has no tags", nil},
		{"oci://" + mute.Host + "/few:v9", "", nil},
	} {
		_, err := c.Resolve(t.Context(), mustParse(t, tt.ref), registry.Want{Root: true})
		var missing *registry.NotFoundError
		if !errors.As(err, &missing) || missing.Reason != tt.reason || !slices.Equal(missing.Have, tt.have) {
			t.Errorf("%s: %v, want tags %v and the reason %q", tt.ref, err, tt.have, tt.reason)
		}
	}
}
