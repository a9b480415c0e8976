package cosign_test

import (
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/krmcat/krmcat/verify/cosign"
)

// TestWrongPassword checks that a wrong password is distinguished from a key that cannot be read,
// for all messages of the library.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	for _, level := range []encrypted.KDFParameterStrength{encrypted.Legacy, encrypted.Standard, encrypted.OWASP} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			box, err := encrypted.EncryptWithCustomKDFParameters([]byte("no key"), []byte("secret"), level)
			if err != nil {
				t.Fatal(err)
			}
			load := func(text, password string) error {
				key := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED SIGSTORE PRIVATE KEY", Bytes: []byte(text)})
				_, err := local().LoadSigner(key, []byte(password))
				return err
			}
			if err := load(string(box), "wrong"); !errors.Is(err, cosign.ErrPassword) {
				t.Errorf("a wrong password: %v", err)
			}
			if err := load(string(box), "secret"); err == nil || errors.Is(err, cosign.ErrPassword) {
				t.Errorf("no key inside: %v", err)
			}
			for _, change := range [][2]string{
				{`"scrypt"`, `"decryption failed"`}, {`"nacl/secretbox"`, `"decryption failed"`}, {`"r":8`, `"r":9`}, {`"nonce":"`, `"nonce":"AAAA`}, {"{", "decryption failed"},
			} {
				text := strings.Replace(string(box), change[0], change[1], 1)
				if err := load(text, "wrong"); text == string(box) || err == nil || errors.Is(err, cosign.ErrPassword) {
					t.Errorf("%s: %v", change[1], err)
				}
			}
		})
	}
}
