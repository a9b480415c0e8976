package cosign_test

import (
	"path/filepath"
	"testing"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
)

// TestEnvironmentVouchesForNobody sets all variables of cosign's libraries to another sigstore
// instance. Its signatures are not accepted, and valid ones still are.
func TestEnvironmentVouchesForNobody(t *testing.T) {
	s, other, dir := sigtest.New(t), sigtest.New(t), t.TempDir()
	other.Write(dir, alice())
	for name, file := range map[string]string{
		"SIGSTORE_ROOT_FILE": sigtest.FulcioRootFile, "SIGSTORE_REKOR_PUBLIC_KEY": sigtest.RekorKeyFile,
		"SIGSTORE_CT_LOG_PUBLIC_KEY_FILE": sigtest.CTKeyFile, "SIGSTORE_TSA_CERTIFICATE_FILE": sigtest.TSAChainFile,
		"TUF_ROOT": "tuf", "HOME": "",
	} {
		t.Setenv(name, filepath.Join(dir, file))
	}
	claim := sigtest.Claim{Who: alice(), Digest: subject, Reference: "registry.example.com/a", Timestamp: true}
	j := build(t, byIdentity(s))
	for _, made := range []func(sigtest.Claim) registry.Attachment{s.Bundle, s.Legacy} {
		accepted(t, judge(t, j, subject, made(claim)))
	}
	for _, made := range []func(sigtest.Claim) registry.Attachment{other.Bundle, other.Legacy} {
		v := judge(t, j, subject, made(claim))
		if len(v.Reasons) == 0 || v.Signatures[0].Verified {
			t.Errorf("the environment is believed: %+v", v)
		}
	}
}
