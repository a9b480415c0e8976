package cosign

import (
	"fmt"
	"strings"
)

// KeyURLError says that a key is named by a URL, as cosign's --key may be, and not by a file.
type KeyURLError struct {
	Scheme string // awskms
	URL    string
}

func (e *KeyURLError) Error() string {
	what := e.URL + " is a key in a key service"
	switch e.Scheme {
	case "env":
		return e.URL + " is a key in the environment, which has no say in whom to trust: give it as a file, or in place as data"
	case "k8s":
		what = e.URL + " is a key in a cluster"
	case "pkcs11":
		what = e.URL + " is a key in a token"
	case "https", "http", "oci":
		return e.URL + " is not fetched: what is trusted is a file, fetch it once and look at it"
	}
	return what + ", and krmcat asks none: write its public half to a file once (cosign public-key --key " + e.URL + " > NAME.pub) and name that"
}

// KeyURL finds out whether what should be the path of a key is a URL by which cosign finds
// one. Nil for a path.
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
