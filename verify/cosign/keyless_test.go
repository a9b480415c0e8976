package cosign_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/internal/sigtest"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/verify"
	"github.com/krmcat/krmcat/verify/cosign"
)

const keylessIssuer = "https://issuer.example.com"

func keylessSubject() digest.Digest { return digest.FromString("what is signed without a key") }

// somebody returns a signer without a key.
func somebody() sigtest.Identity {
	return sigtest.Identity{Subject: "alice@example.com", Issuer: keylessIssuer}
}

// keylessOptions returns all options, for a sigstore instance.
func keylessOptions(s *sigtest.Sigstore, who sigtest.Identity) cosign.KeylessOptions {
	return cosign.KeylessOptions{
		Token: s.Token(who), FulcioURL: s.FulcioURL, RekorURL: s.RekorURL, TSAURL: s.TSAURL,
		TrustedRoot: s.TrustedRoot(), Transport: &http.Transport{},
	}
}

// roundTrip is a function as a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func signKeyless(t *testing.T, o cosign.KeylessOptions, c cosign.Claim) ([]registry.Attachment, error) {
	t.Helper()
	s, err := local().NewKeyless(o)
	if err != nil {
		t.Fatal(err)
	}
	return s.Sign(t.Context(), c)
}

func TestKeylessSignaturesHold(t *testing.T) {
	t.Parallel()
	robot := sigtest.Identity{Subject: "https://ci.example.com/team/repo@refs/heads/main", Issuer: "https://token.ci.example.com"}
	for name, c := range map[string]struct {
		who    sigtest.Identity
		change func(*cosign.KeylessOptions)
		asked  int32
	}{
		"e-mail, with a timestamp": {somebody(), func(*cosign.KeylessOptions) {}, 3},
		"URI, with the log alone":  {robot, func(o *cosign.KeylessOptions) { o.TSAURL = "" }, 2},
		"not checked":              {somebody(), func(o *cosign.KeylessOptions) { o.TrustedRoot = nil }, 3},
		"with slashes, and space around the token": {somebody(), func(o *cosign.KeylessOptions) {
			o.FulcioURL, o.RekorURL, o.Token = o.FulcioURL+"/", o.RekorURL+"/", "\n"+o.Token+"\n"
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sigtest.New(t)
			o := keylessOptions(s, c.who)
			var asked atomic.Int32
			through := o.Transport
			o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				asked.Add(1)
				return through.RoundTrip(r)
			})
			c.change(&o)
			claim := cosign.Claim{Digest: keylessSubject(), Annotations: map[string]string{"env": "prod"}}
			made, err := signKeyless(t, o, claim)
			if err != nil {
				t.Fatal(err)
			}
			if got := asked.Load(); got != c.asked {
				t.Errorf("%d requests came through the transport, want %d", got, c.asked)
			}
			if len(made) != 1 || made[0].Tag != "" || made[0].ArtifactType != "application/vnd.dev.sigstore.bundle.v0.3+json" {
				t.Fatalf("it made %+v", made)
			}
			demand := cosign.Demand{
				Identities:  []cosign.Identity{{Subject: c.who.Subject, Issuer: c.who.Issuer}},
				TrustedRoot: s.TrustedRoot(), Annotations: map[string]string{"env": "prod"},
			}
			v := judgeKeyless(t, demand, made)
			if len(v.Reasons) > 0 || len(v.Signatures) != 1 {
				t.Fatalf("%+v", v)
			}
			got := v.Signatures[0]
			if !got.Verified || !got.Logged || got.Identity != c.who.Subject || got.Issuer != c.who.Issuer || got.Time == nil {
				t.Errorf("%+v", got)
			}
			demand.Identities[0].Subject = "mallory@example.com"
			if v := judgeKeyless(t, demand, made); len(v.Reasons) == 0 || v.Signatures[0].Verified {
				t.Errorf("it holds for somebody else: %+v", v)
			}
		})
	}
}

func judgeKeyless(t *testing.T, d cosign.Demand, made []registry.Attachment) verify.Verdict {
	t.Helper()
	j, err := local().Build(d)
	if err != nil {
		t.Fatal(err)
	}
	v, err := j.Judge(t.Context(), keylessSubject(), made)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestKeylessServiceSaysNo checks the errors for responses of services: a refusal is reported as
// such, and a broken service as unreachable. The token is never shown.
func TestKeylessServiceSaysNo(t *testing.T) {
	t.Parallel()
	for _, service := range []string{"certificate authority", "transparency log", "timestamp authority"} {
		for _, status := range []int{302, 400, 401, 403, 404, 429, 500, 503} {
			t.Run(fmt.Sprint(service, " ", status), func(t *testing.T) {
				t.Parallel()
				s := sigtest.New(t)
				o := keylessOptions(s, somebody())
				parts := strings.Split(o.Token, ".")
				refusal := sigtest.Refusal{
					Status:  status,
					Message: "not\x1b[31m to\u202eday\r\n" + o.Token + " " + parts[1] + " " + parts[2] + strings.Repeat(" no", 5000),
				}
				b, url := sigtest.Behaviour{Fulcio: refusal}, s.FulcioURL
				switch service {
				case "transparency log":
					b, url = sigtest.Behaviour{Rekor: refusal}, s.RekorURL
				case "timestamp authority":
					b, url = sigtest.Behaviour{TSA: refusal}, s.TSAURL
				}
				s.Behave(b)
				made, err := signKeyless(t, o, cosign.Claim{Digest: keylessSubject()})
				if err == nil || made != nil {
					t.Fatalf("it made %v, %v", made, err)
				}
				var refused *cosign.RefusedError
				var unreachable *registry.UnreachableError
				switch {
				case status >= 500 || status == 429:
					if !errors.As(err, &unreachable) || unreachable.Ref != url || unreachable.Status != status {
						t.Errorf("%v", err)
					}
				case !errors.As(err, &refused) || errors.As(err, &unreachable):
					t.Errorf("%v", err)
				case refused.Service != service || refused.URL != url || refused.Status != status:
					t.Errorf("%+v", refused)
				}
				words := err.Error()
				for _, part := range parts {
					if strings.Contains(words, part) {
						t.Errorf("it shows a part of the token: %s", words)
					}
				}
				if !strings.Contains(words, "today (token) (token) (token) no no") || !strings.Contains(words, service) ||
					strings.ContainsAny(words, "\r\n\x1b") || len(words) > 1000 {
					t.Errorf("it says %q", words)
				}
			})
		}
	}
}

func TestKeylessServiceDown(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	const down = "http://127.0.0.1:1"
	for name, change := range map[string]func(*cosign.KeylessOptions){
		"certificate authority": func(o *cosign.KeylessOptions) { o.FulcioURL = down },
		"transparency log":      func(o *cosign.KeylessOptions) { o.RekorURL = down },
		"timestamp authority":   func(o *cosign.KeylessOptions) { o.TSAURL = down },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keylessOptions(s, somebody())
			change(&o)
			_, err := signKeyless(t, o, cosign.Claim{Digest: keylessSubject()})
			var unreachable *registry.UnreachableError
			if !errors.As(err, &unreachable) || unreachable.Ref != down || unreachable.Status != 0 {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestKeylessTokenOfOthers(t *testing.T) {
	t.Parallel()
	s, other := sigtest.New(t), sigtest.New(t)
	o := keylessOptions(s, somebody())
	o.Token = other.Token(somebody())
	_, err := signKeyless(t, o, cosign.Claim{Digest: keylessSubject()})
	var refused *cosign.RefusedError
	if !errors.As(err, &refused) || refused.Said != "the identity token is of no issuer that is known" {
		t.Errorf("%v", err)
	}
}

// TestKeylessSignatureIsChecked checks that wrong certificates and log entries of services are not
// published.
func TestKeylessSignatureIsChecked(t *testing.T) {
	t.Parallel()
	other := sigtest.New(t).TrustedRoot()
	for name, c := range map[string]struct {
		does sigtest.Behaviour
		root []byte
		says string
	}{
		"another sigstore":         {root: other, says: "does not hold against the trusted root"},
		"an impostor":              {does: sigtest.Behaviour{Impostor: true}, says: "no authority of the trusted root vouches for the certificate"},
		"no certificate log":       {does: sigtest.Behaviour{WithoutSCT: true}, says: "(SCT)"},
		"an expired certificate":   {does: sigtest.Behaviour{CertificateAge: time.Hour}, says: "does not hold against the trusted root"},
		"a log that proves little": {does: sigtest.Behaviour{WithoutProof: true}, says: "an incomplete entry"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sigtest.New(t)
			s.Behave(c.does)
			o := keylessOptions(s, somebody())
			if c.root != nil {
				o.TrustedRoot = c.root
			}
			made, err := signKeyless(t, o, cosign.Claim{Digest: keylessSubject()})
			if err == nil || made != nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it made %v, %v, want %q", made, err, c.says)
			}
		})
	}
}

// TestKeylessGarbage has services with arbitrary responses.
func TestKeylessGarbage(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	honest := &http.Transport{}
	for service, path := range map[string]string{"fulcio": "/signingCert", "rekor": "/log/entries", "tsa": "/timestamp"} {
		for name, garbage := range map[string]string{
			"nothing": "", "null": "null", "zero": "0", "object": "{}", "array": "[]", "DER": "\x30\x80\x06\x01",
			"an entry of nulls": `{"a":{"verification":{"inclusionProof":{}}}}`,
			"an entry without a body": `{"a":{"logID":"00","logIndex":-1,"integratedTime":-1,"verification":{"inclusionProof":
				{"rootHash":"00","logIndex":-1,"treeSize":-1,"checkpoint":"","hashes":["zz"]}}}}`,
			"an entry of garbage": `{"a":{"body":"e30=","logID":"00","logIndex":-1,"integratedTime":-1,"verification":{"inclusionProof":
				{"rootHash":"00","logIndex":-1,"treeSize":-1,"checkpoint":"","hashes":["00"]}}}}`,
			"two entries":    `{"a":{},"b":{}}`,
			"no certificate": `{"signedCertificateEmbeddedSct":{"chain":{"certificates":["x"]}}}`,
			"an empty certificate": `{"signedCertificateEmbeddedSct":{"chain":{"certificates":
				["-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"]}}}`,
			"endless": strings.Repeat("a", 2<<20),
		} {
			t.Run(service+" "+name, func(t *testing.T) {
				t.Parallel()
				o := keylessOptions(s, somebody())
				o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
					if !strings.HasSuffix(r.URL.Path, path) {
						return honest.RoundTrip(r)
					}
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader([]byte(garbage)))}, nil
				})
				made, err := signKeyless(t, o, cosign.Claim{Digest: keylessSubject()})
				if err == nil || made != nil {
					t.Fatalf("it made %v", made)
				}
				var unreachable *registry.UnreachableError
				if long := name == "endless"; long != errors.As(err, &unreachable) || len(err.Error()) > 1000 {
					t.Errorf("%v", err)
				}
			})
		}
	}
}

func TestKeylessGivesUp(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	honest := &http.Transport{}
	for _, path := range []string{"/signingCert", "/log/entries", "/timestamp"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			o := keylessOptions(s, somebody())
			o.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
				if !strings.HasSuffix(r.URL.Path, path) {
					return honest.RoundTrip(r)
				}
				cancel()
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			signer, err := local().NewKeyless(o)
			if err != nil {
				t.Fatal(err)
			}
			_, err = signer.Sign(ctx, cosign.Claim{Digest: keylessSubject()})
			var unreachable *registry.UnreachableError
			if !errors.Is(err, context.Canceled) || errors.As(err, &unreachable) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestKeylessOptions(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	unverified := "e30.eyJlbWFpbCI6ImFAYi5jIn0.c2ln" // {"email":"a@b.c"}, not verified
	for name, c := range map[string]struct {
		change func(*cosign.KeylessOptions)
		says   string
	}{
		"no token":          {func(o *cosign.KeylessOptions) { o.Token = " \n" }, "there is no identity token"},
		"a word":            {func(o *cosign.KeylessOptions) { o.Token = "hunter2" }, "the identity token is not a JWT"},
		"not base64":        {func(o *cosign.KeylessOptions) { o.Token = "hunter2.%.x" }, "the identity token is not a JWT"},
		"no JSON":           {func(o *cosign.KeylessOptions) { o.Token = "a.aHVudGVyMg.c" }, "the identity token is not a JWT"},
		"of nobody":         {func(o *cosign.KeylessOptions) { o.Token = "a.e30.c" }, "has no subject"},
		"e-mail unverified": {func(o *cosign.KeylessOptions) { o.Token = unverified }, "has no subject"},
		"a long token":      {func(o *cosign.KeylessOptions) { o.Token = strings.Repeat("a", 1<<20) }, "at most 65536 are allowed"},
		"no authority":      {func(o *cosign.KeylessOptions) { o.FulcioURL = "" }, "the certificate authority is not given"},
		"no log":            {func(o *cosign.KeylessOptions) { o.RekorURL = "" }, "the transparency log is not given"},
		"a bare host":       {func(o *cosign.KeylessOptions) { o.RekorURL = "rekor.example.com" }, "want https://HOST"},
		"another scheme":    {func(o *cosign.KeylessOptions) { o.TSAURL = "ftp://example.com" }, "want https://HOST"},
		"a login":           {func(o *cosign.KeylessOptions) { o.TSAURL = "https://u:hunter2@example.com" }, "a URL with credentials is not supported"},
		"no URL":            {func(o *cosign.KeylessOptions) { o.TSAURL = "https://u:hunter2@ex ample.com" }, "it is not a URL"},
		"the token in clear": {
			func(o *cosign.KeylessOptions) { o.FulcioURL = "http://fulcio.example.com" }, "use https",
		},
		"no transport": {func(o *cosign.KeylessOptions) { o.Transport = nil }, "there is no transport"},
		"garbage root": {func(o *cosign.KeylessOptions) { o.TrustedRoot = []byte("{") }, "it is not a trusted root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := keylessOptions(s, somebody())
			c.change(&o)
			_, err := local().NewKeyless(o)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("%v, want %q", err, c.says)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("it shows the secret: %v", err)
			}
		})
	}
}

// TestKeylessPrivateAuthority signs with a certificate authority without a certificate transparency
// log.
func TestKeylessPrivateAuthority(t *testing.T) {
	t.Parallel()
	s := sigtest.New(t)
	s.Behave(sigtest.Behaviour{WithoutSCT: true})
	o := keylessOptions(s, somebody())
	var root map[string]any
	if err := json.Unmarshal(o.TrustedRoot, &root); err != nil {
		t.Fatal(err)
	}
	delete(root, "ctlogs")
	var err error
	if o.TrustedRoot, err = json.Marshal(root); err != nil {
		t.Fatal(err)
	}
	if _, err := signKeyless(t, o, cosign.Claim{Digest: keylessSubject()}); err != nil {
		t.Error(err)
	}
}

func TestKeylessPrintsNoToken(t *testing.T) {
	t.Parallel()
	o := keylessOptions(sigtest.New(t), somebody())
	s, err := local().NewKeyless(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if out := fmt.Sprintf(format, s); strings.Contains(out, o.Token) {
			t.Errorf("%s prints %s", format, out)
		}
	}
}

func TestKeylessClaims(t *testing.T) {
	t.Parallel()
	o := keylessOptions(sigtest.New(t), somebody())
	if _, err := signKeyless(t, o, cosign.Claim{Digest: "sha512:abc"}); err == nil {
		t.Error("it signs what is no digest")
	}
}
