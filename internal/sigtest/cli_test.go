package sigtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/internal/sigtest"
)

// TestTheCLIsSignAndVerify checks that the real programs accept this sigstore. Each of them also
// verifies for another identity, and must not find a signature. The test is skipped if the real
// programs do not run.
func TestTheCLIsSignAndVerify(t *testing.T) {
	t.Parallel()
	host := regtest.Start(t, regtest.Options{}).Host
	for name, c := range map[string]struct {
		program      string
		sign, verify []string // $DIR has the files of the sigstore
	}{
		"v3": {
			program: sigtest.CosignV3,
			sign:    []string{"--signing-config", "$DIR/signing_config.json", "--trusted-root", "$DIR/trusted_root.json"},
			verify:  []string{"--trusted-root", "$DIR/trusted_root.json"},
		},
		"v2, the legacy form": {
			program: sigtest.CosignV2,
			sign:    []string{"--fulcio-url", "$FULCIO", "--rekor-url", "$REKOR", "--timestamp-server-url", "$TSA"},
			verify:  []string{"--offline", "--rekor-url", "$REKOR"},
		},
		"v2, a bundle": {
			program: sigtest.CosignV2,
			sign: []string{
				"--new-bundle-format", "--signing-config", "$DIR/signing_config.json", "--trusted-root", "$DIR/trusted_root.json",
			},
			verify: []string{"--new-bundle-format", "--trusted-root", "$DIR/trusted_root.json"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := sigtest.New(t), t.TempDir()
			s.Write(dir, alice())
			ref := push(t, host+"/"+strings.NewReplacer(" ", "", ",", "-").Replace(name))
			args := append([]string{"sign", "--yes", "--identity-token", "$DIR/token"}, c.sign...)
			if out, err := s.Run(dir, c.program, append(args, ref)...); err != nil {
				t.Fatalf("signing: %v\n%s", err, out)
			}
			for who, says := range map[sigtest.Identity]string{
				alice(): "The following checks were performed", robot(): "alice@example.com", // or whom it found instead
			} {
				args := append([]string{
					"verify", "--certificate-identity", who.Subject, "--certificate-oidc-issuer", who.Issuer,
				}, c.verify...)
				out, err := s.Run(dir, c.program, append(args, ref)...)
				if (err == nil) != (who == alice()) || !strings.Contains(out, says) {
					t.Errorf("verifying as %s: %v\n%s", who.Subject, err, out)
				}
			}
		})
	}
}

// push pushes an image to a registry, and returns its reference with the digest.
func push(t *testing.T, repo string) string {
	t.Helper()
	at, err := name.NewRepository(repo)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := empty.Image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	ref := at.Digest(digest.String())
	if err := remote.Write(ref, empty.Image); err != nil {
		t.Fatal(err)
	}
	return ref.String()
}
