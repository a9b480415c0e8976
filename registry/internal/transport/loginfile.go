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
)

// loginFile is Docker's config.json or podman's auth.json. oras-go's own file store is
// not asked: where a host has no key it takes any key that begins with the host, and so
// would send one namespace's login for another.
type loginFile struct {
	path string

	auths       map[string]json.RawMessage // by host, host/namespace or an address of old
	credsStore  string
	credHelpers map[string]string // by host
}

// maxLoginFile bounds a file of logins, in bytes.
const maxLoginFile = 4 << 20

// readLogins reads one file. One that is missing or empty has no logins.
func readLogins(path string) (*loginFile, error) {
	data, err := readLoginFile(path)
	if err != nil {
		return nil, err
	}
	var c struct {
		Auths       map[string]json.RawMessage `json:"auths"`
		CredsStore  string                     `json:"credsStore"`
		CredHelpers map[string]string          `json:"credHelpers"`
	}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := json.Unmarshal(data, &c); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return &loginFile{path, c.Auths, c.CredsStore, c.CredHelpers}, nil
}

func readLoginFile(path string) ([]byte, error) {
	in, err := os.Open(path) // anything that can be read: /dev/null is a way of saying none
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := bounded.Read(in, maxLoginFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

// entry is the login under exactly this key, empty for none.
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
		// Its error shows what it could not read, and that may be a password.
		return auth.EmptyCredential, fmt.Errorf("the entry for %q is malformed", key)
	}
	return store.Get(ctx, only)
}

// fromHelper asks the credential helper for a host, or the store for all of them.
func (f *loginFile) fromHelper(ctx context.Context, address string) (auth.Credential, error) {
	helper := cmp.Or(f.credHelpers[address], f.credsStore)
	if helper == "" {
		return auth.EmptyCredential, nil
	}
	return credentials.NewNativeStore(helper).Get(ctx, address)
}

// ofHost is the login of the first address that has one, under that key or under an
// older spelling of it.
func (f *loginFile) ofHost(ctx context.Context, addresses []string) (auth.Credential, error) {
	keys := slices.Sorted(maps.Keys(f.auths)) // which of two spellings wins must not be luck
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

// bareHost is the host of a key that is about a whole registry: a host, or an address as
// docker once wrote them, https://host/v1/. It is "" for a key with a namespace.
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
