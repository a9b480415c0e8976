package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/scratch"
	"github.com/krmcat/krmcat/registry/internal/transport"
	"github.com/krmcat/krmcat/registry/reference"
)

// Credentials are a user's name and password at a registry.
type Credentials struct{ Username, Password string }

// hide takes the password out of what a credential helper wrote, which may be its input.
func (c Credentials) hide(text string) string {
	quoted, err := json.Marshal(c.Password)
	if err != nil || c.Password == "" {
		return text
	}
	return strings.NewReplacer(string(quoted[1:len(quoted)-1]), "***", c.Password, "***").Replace(text)
}

// ErrNoLoginFile says that Options name no directory of Docker's config.json.
var ErrNoLoginFile = errors.New("there is no directory for logins")

// HostError says that a text is not the host of a registry.
type HostError struct{ Host string }

// Error implements error.
func (e *HostError) Error() string {
	return fmt.Sprintf("%q is not the host of a registry, such as ghcr.io or localhost:5000", reference.Clean(e.Host))
}

// Login checks credentials with a registry, and keeps them as docker does: with the credential
// helper that config.json names for the host, else in config.json, which encrypts nothing. It
// returns whether they are kept in plain text. Errors: *HostError, *UnreachableError,
// *LoginFileError, ErrNoLoginFile.
func (c *Client) Login(ctx context.Context, host string, who Credentials) (plain bool, err error) {
	if _, err := c.findLogin(host); err != nil {
		return false, err
	}
	reg, err := remote.NewRegistry(pingHost(host))
	if err != nil || !reference.IsHost(host) {
		return false, &HostError{host}
	}
	cred := auth.Credential{Username: who.Username, Password: who.Password}
	reg.Client = c.servers.LoggedIn(reg.Reference, cred)
	reg.PlainHTTP = c.servers.PlainHTTP(ctx, reg.Reference.Registry)
	if err := reg.Ping(ctx); err != nil {
		return false, classify(host, err)
	}
	kept, unlock, err := c.holdLogin(ctx, host, true)
	if err != nil {
		return false, err
	}
	defer unlock()
	store, err := c.loginStore()
	if err != nil {
		return false, err
	}
	if err := store.Put(ctx, kept.Address, cred); err != nil {
		return false, fmt.Errorf("keeping the login for %s: %w", host, errors.New(reference.Clean(who.hide(err.Error()))))
	}
	return kept.Helper == "" || c.inPlainText(ctx, host), nil
}

// findLogin reads config.json.
func (c *Client) findLogin(host string) (transport.Kept, error) {
	if c.opts.DockerConfigDir == "" {
		return transport.Kept{}, ErrNoLoginFile
	}
	return transport.FindLogin(c.loginPath(), pingHost(host))
}

// holdLogin reads config.json, and locks it if it will be written: it is written as a whole, and of
// two logins at once one would be lost. A login that a helper keeps writes nothing to the
// directory, which may be read-only.
func (c *Client) holdLogin(ctx context.Context, host string, put bool) (kept transport.Kept, unlock func(), err error) {
	if kept, err = c.findLogin(host); err != nil {
		return kept, nil, err
	}
	if put && kept.Helper != "" || !put && len(kept.Keys) == 0 {
		return kept, func() {}, nil
	}
	path := c.loginPath()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return kept, nil, err
	}
	if _, err := ownfile.Free(path + ".lock"); err != nil {
		return kept, nil, err
	}
	if unlock, err = scratch.Lock(ctx, path+".lock"); err != nil {
		return kept, nil, fmt.Errorf("waiting for %s.lock: %w", path, err)
	}
	if kept, err = c.findLogin(host); err != nil {
		unlock()
		return kept, nil, err
	}
	return kept, unlock, nil
}

// inPlainText reports whether config.json itself has the login, and no helper.
func (c *Client) inPlainText(ctx context.Context, host string) bool {
	file, err := credentials.NewFileStore(c.loginPath())
	if err != nil {
		return true
	}
	cred, err := file.Get(ctx, transport.LoginKey(pingHost(host)))
	return err != nil || cred.Password != ""
}

// LeftLogin is one of podman's files after a logout.
type LeftLogin struct {
	Path string
	Err  error // why it is not known whether the file has a login; nil if it has one
}

// Logout forgets the login for a registry in Docker's config.json or its credential helper, and
// reports whether there was one. left are podman's files that have a login for it, too, or may have
// one.
func (c *Client) Logout(ctx context.Context, host string) (was bool, left []LeftLogin, err error) {
	if was, err = c.logout(ctx, host); err != nil {
		return was, nil, err
	}
	for _, path := range c.opts.AuthFiles {
		if has, err := hasLogin(ctx, path, host); has || err != nil {
			left = append(left, LeftLogin{path, err})
		}
	}
	return was, left, nil
}

// hasLogin reports whether a file, or the credential helper that it names, has a login for a
// registry.
func hasLogin(ctx context.Context, path, host string) (bool, error) {
	kept, err := transport.FindLogin(path, pingHost(host))
	if err != nil || len(kept.Keys) > 0 || kept.Helper == "" {
		return len(kept.Keys) > 0, err
	}
	cred, err := credentials.NewNativeStore(kept.Helper).Get(ctx, kept.Address)
	if err != nil {
		return false, fmt.Errorf("%s: %s", path, reference.Clean(err.Error()))
	}
	return cred != auth.EmptyCredential, nil
}

func (c *Client) logout(ctx context.Context, host string) (bool, error) {
	if _, err := remote.NewRegistry(pingHost(host)); err != nil {
		return false, &HostError{host}
	}
	kept, unlock, err := c.holdLogin(ctx, host, false)
	if err != nil {
		return false, err
	}
	defer unlock()
	was, err := forget(ctx, c.loginPath(), kept)
	if err != nil {
		return was, fmt.Errorf("forgetting the login for %s: %w", host, errors.New(reference.Clean(err.Error())))
	}
	// The library that removes entries knows the last field "auths" only, in these letters.
	if kept, err = c.findLogin(host); err != nil {
		return was, err
	}
	if len(kept.Keys) > 0 {
		return was, failure.Usage.Mark(fmt.Errorf("the login for %s is still in %s, where the field auths is written twice or in other letters: remove it there", host, c.loginPath()))
	}
	return was, nil
}

// forget removes what is kept of a registry, from the file as well as from the helper: what either
// has left would be used again. No entry is decoded, since an error would show what is in it.
func forget(ctx context.Context, path string, kept transport.Kept) (was bool, err error) {
	var errs []error
	if len(kept.Keys) > 0 {
		file, err := credentials.NewFileStore(path)
		if err != nil {
			return false, err
		}
		for _, key := range kept.Keys {
			errs = append(errs, file.Delete(ctx, key))
		}
	}
	if kept.Helper == "" {
		return len(kept.Keys) > 0, errors.Join(errs...)
	}
	helper := credentials.NewNativeStore(kept.Helper)
	cred, err := helper.Get(ctx, kept.Address)
	had := err == nil && cred != auth.EmptyCredential
	if had {
		err = helper.Delete(ctx, kept.Address)
	}
	return had || len(kept.Keys) > 0, errors.Join(append(errs, err)...)
}

// pingHost is the host that serves a registry.
func pingHost(host string) string {
	if host == reference.DockerName || host == reference.DockerAlias {
		return reference.DockerHost
	}
	return host
}

// loginPath is config.json, or the file that it is a link to: a rename would put a file in the
// place of the link. A link that another user could have made is not followed.
func (c *Client) loginPath() string {
	path := filepath.Join(c.opts.DockerConfigDir, "config.json")
	if real, err := ownfile.Mine().OnVolumes().Resolve(path); err == nil {
		if info, err := os.Lstat(real); err == nil && info.Mode().IsRegular() {
			return real
		}
	}
	return path
}

// loginStore opens config.json, and the helpers that it names.
func (c *Client) loginStore() (*credentials.DynamicStore, error) {
	store, err := credentials.NewStore(c.loginPath(), credentials.StoreOptions{AllowPlaintextPut: true})
	if err != nil {
		return nil, &LoginFileError{Path: c.loginPath(), Err: err}
	}
	return store, nil
}
