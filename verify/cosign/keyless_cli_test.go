package cosign_test

import (
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/verify/cosign"
)

// cosignCLIs returns the commands of the real programs that verify and sign without a key, with
// bundles and in the older form of v2.
func cosignCLIs() map[string]struct {
	program      string
	sign, verify []string
} {
	root := []string{"--trusted-root", "$DIR/trusted_root.json"}
	config := append([]string{"--signing-config", "$DIR/signing_config.json"}, root...)
	bundle := "--new-bundle-format"
	return map[string]struct {
		program      string
		sign, verify []string
	}{
		"v3":    {program: sigtest.CosignV3, sign: config, verify: root},
		"v2":    {program: sigtest.CosignV2, sign: append([]string{bundle}, config...), verify: append([]string{bundle}, root...)},
		"older": {program: sigtest.CosignV2, sign: []string{"--fulcio-url", "$FULCIO", "--rekor-url", "$REKOR"}},
	}
}

// TestKeylessByTheCLIs verifies signatures of krmcat with the cosign CLIs, with a trusted root and
// no network, and judges signatures of the CLIs. It is skipped without the real programs.
// testdata/script/keyless.txtar judges stored signatures of the CLIs.
func TestKeylessByTheCLIs(t *testing.T) {
	t.Parallel()
	host := regtest.Start(t, regtest.Options{}).Host
	for name, c := range cosignCLIs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := sigtest.New(t), t.TempDir()
			s.Write(dir, somebody())
			client, ours := pushedImage(t, host+"/"+name+"/ours")
			_, theirs := pushedImage(t, host+"/"+name+"/theirs")
			if c.verify != nil {
				made, err := signKeyless(t, keylessOptions(s, somebody()), cosign.Claim{Digest: ours.Root.Digest})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := client.Attach(t.Context(), ours.From, ours.Root, made[0]); err != nil {
					t.Fatal(err)
				}
				verifiedByCLI(t, s, dir, c.program, c.verify, ours)
			}
			args := append([]string{"sign", "--yes", "--identity-token", "$DIR/token"}, c.sign...)
			if out, err := s.Run(dir, c.program, append(args, referenceOf(theirs))...); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			j, err := local().Build(cosign.Demand{
				Identities:  []cosign.Identity{{Subject: somebody().Subject, Issuer: somebody().Issuer}},
				TrustedRoot: s.TrustedRoot(),
			})
			if err != nil {
				t.Fatal(err)
			}
			found, err := theirs.Attachments(t.Context(), theirs.Root.Digest, j.Query(theirs.Root.Digest))
			if err != nil {
				t.Fatal(err)
			}
			v, err := j.Judge(t.Context(), theirs.Root.Digest, found)
			if err != nil || len(v.Reasons) > 0 || len(v.Signatures) != 1 || !v.Signatures[0].Logged {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
}

// verifiedByCLI verifies with one of the programs, for the signer and for another identity.
func verifiedByCLI(t *testing.T, s *sigtest.Sigstore, dir, program string, flags []string, a registry.Artifact) {
	t.Helper()
	for who, says := range map[string]string{
		somebody().Subject: "The following checks were performed", "mallory@example.com": "got \"" + somebody().Subject,
	} {
		args := append([]string{"verify", "--certificate-identity", who, "--certificate-oidc-issuer", keylessIssuer}, flags...)
		out, err := s.Run(dir, program, append(args, referenceOf(a))...)
		if (err == nil) != (who == somebody().Subject) || !strings.Contains(out, says) {
			t.Errorf("as %s: %v\n%s", who, err, out)
		}
	}
}

func referenceOf(a registry.Artifact) string {
	return strings.TrimPrefix(a.From.Name, "oci://") + "@" + a.Root.Digest.String()
}

// pushedImage pushes an image to a repository, and resolves it.
func pushedImage(t *testing.T, repo string) (*registry.Client, registry.Artifact) {
	t.Helper()
	at, err := name.NewTag(repo + ":v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(at, empty.Image); err != nil {
		t.Fatal(err)
	}
	client, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := reference.Parse("oci://" + repo + ":v1")
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Resolve(t.Context(), l, registry.Want{})
	if err != nil {
		t.Fatal(err)
	}
	return client, a
}
