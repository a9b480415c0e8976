package regtest_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
)

func TestStartVariants(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]regtest.Options{
		"plain": {}, "logins": {Logins: true}, "tls": {TLS: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := regtest.Start(t, o)
			url, client := "http://"+r.Host+"/v2/", &http.Client{}
			if o.TLS {
				url = "https://" + r.Host + "/v2/"
				client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool(t, r.CAFile)}}
			}
			if got, want := status(t, client, url, false), http.StatusOK; !o.Logins && got != want {
				t.Errorf("status %d, want %d", got, want)
			}
			if o.Logins {
				if got := status(t, client, url, false); got != http.StatusUnauthorized {
					t.Errorf("without a login: status %d", got)
				}
				if got := status(t, client, url, true); got != http.StatusOK {
					t.Errorf("with the login: status %d", got)
				}
			}
			client.CloseIdleConnections()
		})
	}
}

func status(t *testing.T, c *http.Client, url string, login bool) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if login {
		req.SetBasicAuth(regtest.User, regtest.Password)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func pool(t *testing.T, file string) *x509.CertPool {
	t.Helper()
	pem, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := x509.NewCertPool()
	if !p.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	return p
}
