package cosign_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/livetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/verify/cosign"
)

// TestReferencesByTheCLIs verifies signatures whose reference is a layout, or an unusual place: the
// reference is informative. The cosign CLIs verify them too, if the real programs are there.
func TestReferencesByTheCLIs(t *testing.T) {
	t.Parallel()
	s, dir := sigtest.New(t), t.TempDir()
	host := regtest.Start(t, regtest.Options{}).Host
	if err := os.WriteFile(filepath.Join(dir, "cosign.pub"), read(t, "cosign.pub"), 0o600); err != nil {
		t.Fatal(err)
	}
	signer, err := local().LoadSigner(read(t, "cosign.key"), []byte("pw"), cosign.FormLegacy)
	if err != nil {
		t.Fatal(err)
	}
	for name, where := range map[string]struct{ given, kept string }{
		"none": {"", "oci-layout"}, "odd": {"/home/me/my <store> é@x:1/", "/home/me/my <store> é@x:1/"},
	} {
		client, image := pushedImage(t, host+"/"+name)
		made, err := signer.Sign(t.Context(), cosign.Claim{Digest: image.Root.Digest, Reference: where.given})
		if err != nil {
			t.Fatal(err)
		}
		var payload struct {
			Critical struct {
				Identity struct {
					Reference string `json:"docker-reference"`
				}
			}
		}
		if err := json.Unmarshal(made[0].Files[0].Data, &payload); err != nil || payload.Critical.Identity.Reference != where.kept {
			t.Errorf("%s: it says %q, %v", name, payload.Critical.Identity.Reference, err)
		}
		if _, err := client.Attach(t.Context(), image.From, image.Root, made[0]); err != nil {
			t.Fatal(err)
		}
		accepted(t, judge(t, build(t, byKey(t, "cosign")), image.Root.Digest, made[0]))
		if !livetest.On() {
			continue
		}
		for _, program := range []string{sigtest.CosignV2, sigtest.CosignV3} {
			out, err := s.Run(dir, program, "verify", "--key", "$DIR/cosign.pub", "--insecure-ignore-tlog=true", referenceOf(image))
			if err != nil || !strings.Contains(out, "The signatures were verified against the specified public key") {
				t.Errorf("%s, %s: %v\n%s", name, program, err, out)
			}
		}
	}
}
