package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/krmcat/krmcat/registry/reference"
)

// Credentials are a user's name and password at a registry.
type Credentials struct{ Username, Password string }

// ErrNoLoginFile says that Options name no directory of Docker's config.json.
var ErrNoLoginFile = errors.New("there is no directory for logins")

// HostError says that a text is not the host of a registry.
type HostError struct{ Host string }

// Error implements error.
func (e *HostError) Error() string {
	return fmt.Sprintf("%q is not the host of a registry, such as ghcr.io or localhost:5000", reference.Clean(e.Host))
}

// Login checks credentials with a registry, and keeps them as docker does: with the credential helper
// that config.json names for the host, else in config.json, which encrypts nothing. It returns
// whether they are kept in plain text. Errors: *HostError, *UnreachableError, ErrNoLoginFile, and
// those of config.json.
func (c *Client) Login(ctx context.Context, host string, who Credentials) (plain bool, err error) {
	store, err := c.loginStore()
	if err != nil {
		return false, err
	}
	reg, err := remote.NewRegistry(pingHost(host))
	if err != nil {
		return false, &HostError{host}
	}
	cred := auth.Credential{Username: who.Username, Password: who.Password}
	reg.Client = c.servers.LoggedIn(reg.Reference, cred)
	reg.PlainHTTP = c.servers.PlainHTTP(ctx, reg.Reference.Registry)
	if err := reg.Ping(ctx); err != nil {
		return false, classify(host, err)
	}
	if err := store.Put(ctx, credentials.ServerAddressFromRegistry(host), cred); err != nil {
		return false, fmt.Errorf("keeping the login for %s: %w", host, errors.New(reference.Clean(err.Error())))
	}
	return !store.IsAuthConfigured() || c.inPlainText(ctx, host), nil
}

// inPlainText reports whether config.json itself has the login, and no helper.
func (c *Client) inPlainText(ctx context.Context, host string) bool {
	file, err := credentials.NewFileStore(c.loginPath())
	if err != nil {
		return true
	}
	cred, err := file.Get(ctx, credentials.ServerAddressFromRegistry(host))
	return err != nil || cred.Password != ""
}

// Logout forgets the login for a registry in Docker's config.json or its credential helper, and
// reports whether there was one.
func (c *Client) Logout(ctx context.Context, host string) (bool, error) {
	store, err := c.loginStore()
	if err != nil {
		return false, err
	}
	if _, err := remote.NewRegistry(pingHost(host)); err != nil {
		return false, &HostError{host}
	}
	address := credentials.ServerAddressFromRegistry(host)
	cred, err := store.Get(ctx, address)
	if err == nil && cred == auth.EmptyCredential {
		return false, nil
	}
	if err == nil {
		err = store.Delete(ctx, address)
	}
	if err != nil {
		return false, fmt.Errorf("forgetting the login for %s: %w", host, errors.New(reference.Clean(err.Error())))
	}
	return true, nil
}

// pingHost is the host that serves a registry.
func pingHost(host string) string {
	if host == reference.DockerName || host == reference.DockerAlias {
		return reference.DockerHost
	}
	return host
}

func (c *Client) loginPath() string { return filepath.Join(c.opts.DockerConfigDir, "config.json") }

func (c *Client) loginStore() (*credentials.DynamicStore, error) {
	if c.opts.DockerConfigDir == "" {
		return nil, ErrNoLoginFile
	}
	store, err := credentials.NewStore(c.loginPath(), credentials.StoreOptions{AllowPlaintextPut: true})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", c.loginPath(), err)
	}
	return store, nil
}
