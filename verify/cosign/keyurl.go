package cosign

import (
	"fmt"
	"strings"
)

// KeyURLError reports a key that is given by URL, as for cosign's --key, and not as a file.
type KeyURLError struct {
	Scheme string // awskms
	URL    string
}

// Error says what to write instead.
func (e *KeyURLError) Error() string {
	what := e.URL + " is a key in a key service"
	switch e.Scheme {
	case "env":
		return e.URL + " is a key in the environment, which krmcat does not use for trust: give it as a file, or in place as data"
	case "k8s":
		what = e.URL + " is a key in a cluster"
	case "pkcs11":
		what = e.URL + " is a key in a token"
	case "https", "http", "oci":
		return e.URL + " is not fetched: trusted keys are files, fetch it once and check it"
	}
	return what + ", which krmcat does not use: write the public key to a file once (cosign public-key --key " + e.URL + " > NAME.pub) and name that"
}

// KeyURL returns an error if the path of a key is a URL, a *KeyURLError if cosign supports it; nil
// for a path.
func KeyURL(path string) error {
	scheme, _, found := strings.Cut(path, "://")
	switch scheme = strings.ToLower(scheme); {
	case strings.HasPrefix(strings.ToLower(path), "pkcs11:"):
		return &KeyURLError{"pkcs11", path}
	case !found:
		return nil
	}
	for _, known := range []string{"awskms", "azurekms", "gcpkms", "hashivault", "openbao", "k8s", "env", "gitlab", "github", "https", "http", "oci"} {
		if scheme == known {
			return &KeyURLError{scheme, path}
		}
	}
	return fmt.Errorf("%s is a URL, and keys are files", path)
}
