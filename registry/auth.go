package registry

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
)

// logins looks up credentials in the user's files. Files are read at the first question,
// once: a broken one does not matter to who never logs in.
type logins struct {
	dockerConfig string
	authFiles    []string

	once   sync.Once
	stores []loginStore
	err    error
}

// loginStore is one file.
type loginStore struct {
	credentials.Store
	path string
	// named holds the logins that are written in the file itself; nil where the file
	// has none for host/namespace (Docker's).
	named credentials.Store
}

func newLogins(o Options) *logins {
	l := &logins{authFiles: o.AuthFiles}
	if o.DockerConfigDir != "" {
		l.dockerConfig = filepath.Join(o.DockerConfigDir, "config.json")
	}
	return l
}

func (l *logins) load() {
	if l.dockerConfig != "" {
		l.add(l.dockerConfig, false)
	}
	for _, f := range l.authFiles {
		l.add(f, true)
	}
}

func (l *logins) add(path string, namespaces bool) {
	store, err := credentials.NewStore(path, credentials.StoreOptions{})
	s := loginStore{Store: store, path: path}
	if err == nil && namespaces {
		s.named, err = credentials.NewFileStore(path)
	}
	if err != nil {
		l.err = errors.Join(l.err, fmt.Errorf("reading logins: %s", clean(err.Error())))
		return
	}
	l.stores = append(l.stores, s)
}

// forRepository gives the credentials of one repository, and of its own host only.
func (l *logins) forRepository(host, repo string) auth.CredentialFunc {
	return func(ctx context.Context, asked string) (auth.Credential, error) {
		if asked != host {
			return auth.EmptyCredential, nil
		}
		l.once.Do(l.load)
		problem := l.err
		for _, s := range l.stores {
			cred, err := s.lookup(ctx, host, repo)
			if err != nil {
				problem = errors.Join(problem, fmt.Errorf("looking up the login for %s in %s: %s", host, s.path, clean(err.Error())))
				continue
			}
			if cred != auth.EmptyCredential {
				return cred, nil
			}
		}
		return auth.EmptyCredential, problem
	}
}

const (
	dockerHost    = "registry-1.docker.io"
	dockerAddress = "https://index.docker.io/v1/"
)

func (s loginStore) lookup(ctx context.Context, host, repo string) (auth.Credential, error) {
	if s.named != nil {
		name := host
		if host == dockerHost {
			name = "docker.io"
		}
		// The longest name wins, as podman has it.
		for key := name + "/" + repo; key != ""; key = parent(key) {
			if cred, err := s.named.Get(ctx, key); err != nil || cred != auth.EmptyCredential {
				return cred, err
			}
		}
	}
	if host == dockerHost {
		return s.Get(ctx, dockerAddress)
	}
	return s.Get(ctx, host)
}

func parent(key string) string {
	i := strings.LastIndexByte(key, '/')
	if i < 0 {
		return ""
	}
	return key[:i]
}
