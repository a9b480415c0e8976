package transport

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/krmcat/krmcat/registry/internal/problem"
	"github.com/krmcat/krmcat/registry/reference"
)

// logins looks up credentials in the user's files. The files are read once, at the first lookup, so
// that an invalid file affects only requests that need credentials.
type logins struct {
	paths []string

	once  sync.Once
	files []*loginFile
	err   error
}

func newLogins(o Options) *logins {
	l := &logins{}
	if o.DockerConfigDir != "" {
		l.paths = append(l.paths, filepath.Join(o.DockerConfigDir, "config.json"))
	}
	l.paths = append(l.paths, o.AuthFiles...)
	return l
}

func (l *logins) load() {
	for _, path := range l.paths {
		f, err := readLogins(path)
		if err != nil {
			l.err = errors.Join(l.err, err)
			continue
		}
		l.files = append(l.files, f)
	}
}

// forRepository returns the credentials of one repository, for its own host only. This does not
// rely on the client to ask for that host only.
func (l *logins) forRepository(host, repo string) auth.CredentialFunc {
	return func(ctx context.Context, asked string) (auth.Credential, error) {
		if asked != host {
			return auth.EmptyCredential, nil
		}
		l.once.Do(l.load)
		unread := l.err
		for _, f := range l.files {
			cred, err := f.lookup(ctx, host, repo)
			var malformed *problem.LoginFileError
			switch {
			case errors.As(err, &malformed):
				unread = errors.Join(unread, malformed)
				continue
			case err != nil:
				unread = errors.Join(unread, fmt.Errorf("looking up the credentials for %s in %s: %s", host, f.path, reference.Clean(err.Error())))
				continue
			}
			if cred != auth.EmptyCredential {
				return cred, nil
			}
		}
		return auth.EmptyCredential, unread
	}
}

// dockerAddress is the key of the credentials for Docker Hub.
const dockerAddress = "https://index.docker.io/v1/"

// lookup returns the credentials of a repository: those of the longest matching namespace, as in
// podman, then those of the host.
func (f *loginFile) lookup(ctx context.Context, host, repo string) (auth.Credential, error) {
	name, addresses := addressesOf(host)
	for key := name + "/" + repo; key != name; key = key[:strings.LastIndexByte(key, '/')] {
		if cred, err := f.entry(ctx, key); err != nil || cred != auth.EmptyCredential {
			return cred, err
		}
	}
	if cred, err := f.fromHelper(ctx, addresses[0]); err != nil || cred != auth.EmptyCredential {
		return cred, err
	}
	return f.ofHost(ctx, addresses)
}

// LoginKey returns the key under which the credentials of a host are kept.
func LoginKey(host string) string {
	_, addresses := addressesOf(host)
	return addresses[0]
}

// addressesOf returns the name of a registry in keys with a namespace, and the keys of the registry
// itself. A helper knows it by the first.
func addressesOf(host string) (name string, addresses []string) {
	if host == reference.DockerHost {
		return reference.DockerName, []string{dockerAddress, reference.DockerName, reference.DockerAlias, reference.DockerHost}
	}
	return host, []string{host}
}
