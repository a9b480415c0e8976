package transport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/registry/internal/problem"
)

// loginFile is Docker's config.json or podman's auth.json. oras-go's file store is not used: if a
// host has no key, it takes any key that begins with the host, and so would send the credentials of
// another namespace.
type loginFile struct {
	path string

	auths       map[string]json.RawMessage // by host, host/namespace or legacy URL
	credsStore  string
	credHelpers map[string]string // by host
}

// maxLoginFile is the maximum size of a login file, in bytes.
const maxLoginFile = 4 << 20

// readLogins reads one file. A missing or empty file has no credentials. The error is a
// *problem.LoginFileError.
func readLogins(path string) (*loginFile, error) {
	data, err := readLoginFile(path)
	if err != nil {
		return nil, &problem.LoginFileError{Path: path, Err: err}
	}
	var c *struct {
		Auths       map[string]json.RawMessage `json:"auths"`
		CredsStore  string                     `json:"credsStore"`
		CredHelpers map[string]string          `json:"credHelpers"`
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return &loginFile{path: path}, nil
	}
	if err := json.Unmarshal(data, &c); err != nil {
		var odd *json.UnmarshalTypeError
		if errors.As(err, &odd) { // its text has the names of Go's types
			err = fmt.Errorf("%s must not be a JSON %s", cmp.Or(odd.Field, "it"), odd.Value)
		}
		return nil, &problem.LoginFileError{Path: path, Err: err}
	}
	if c == nil {
		return nil, &problem.LoginFileError{Path: path, Err: errors.New("it is null")}
	}
	return &loginFile{path, c.Auths, c.CredsStore, c.CredHelpers}, nil
}

func readLoginFile(path string) ([]byte, error) {
	in, err := os.Open(path) // not only plain files: /dev/null means no credentials
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return bounded.Read(in, maxLoginFile)
}

// entry returns the credentials of exactly this key, empty for none.
func (f *loginFile) entry(ctx context.Context, key string) (auth.Credential, error) {
	raw, ok := f.auths[key]
	if !ok {
		return auth.EmptyCredential, nil
	}
	const only = "key"
	data, err := json.Marshal(map[string]any{"auths": map[string]json.RawMessage{only: raw}})
	if err != nil {
		return auth.EmptyCredential, err
	}
	store, err := credentials.NewMemoryStoreFromDockerConfig(data)
	if err != nil {
		// The error is not wrapped: it contains what could not be read, which may be a password.
		return auth.EmptyCredential, &problem.LoginFileError{Path: f.path, Err: fmt.Errorf("the entry for %q is malformed", key)}
	}
	return store.Get(ctx, only)
}

// fromHelper queries the credential helper of a host, or else the credentials store.
func (f *loginFile) fromHelper(ctx context.Context, address string) (auth.Credential, error) {
	helper := cmp.Or(f.credHelpers[address], f.credsStore)
	if helper == "" {
		return auth.EmptyCredential, nil
	}
	return credentials.NewNativeStore(helper).Get(ctx, address)
}

// ofHost returns the credentials of the first address that has some, by this key or a legacy form
// of it.
func (f *loginFile) ofHost(ctx context.Context, addresses []string) (auth.Credential, error) {
	keys := slices.Sorted(maps.Keys(f.auths)) // the order makes the result deterministic
	for _, address := range addresses {
		if cred, err := f.entry(ctx, address); err != nil || cred != auth.EmptyCredential {
			return cred, err
		}
		for _, key := range keys {
			if bareHost(key) != address {
				continue
			}
			if cred, err := f.entry(ctx, key); err != nil || cred != auth.EmptyCredential {
				return cred, err
			}
		}
	}
	return auth.EmptyCredential, nil
}

// bareHost returns the host of a key for a whole registry: a host, or a legacy URL of docker,
// https://host/v1/. It is "" for a key with a namespace.
func bareHost(key string) string {
	rest, old := strings.CutPrefix(key, "https://")
	if !old {
		rest, old = strings.CutPrefix(key, "http://")
	}
	host, path, _ := strings.Cut(rest, "/")
	path = strings.TrimSuffix(path, "/")
	if path == "" || old && (path == "v1" || path == "v2") {
		return host
	}
	return ""
}

// Kept says where a login file keeps the credentials of a registry, those of namespaces left out.
type Kept struct {
	Keys            []string // of entries in the file
	Helper, Address string   // the credential helper, "" for none, and what it calls the registry
}

// FindLogin reads a login file, and says where it keeps the credentials of a host.
func FindLogin(path, host string) (Kept, error) {
	f, err := readLogins(path)
	if err != nil {
		return Kept{}, err
	}
	_, addresses := addressesOf(host)
	k := Kept{Helper: cmp.Or(f.credHelpers[addresses[0]], f.credsStore), Address: addresses[0]}
	for _, key := range slices.Sorted(maps.Keys(f.auths)) {
		if slices.Contains(addresses, key) || slices.Contains(addresses, bareHost(key)) {
			k.Keys = append(k.Keys, key)
		}
	}
	return k, nil
}
