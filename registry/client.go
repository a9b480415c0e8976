package registry

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/internal/shared"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry/internal/store"
	"github.com/krmcat/krmcat/registry/internal/transport"
	"github.com/krmcat/krmcat/registry/reference"
)

// Options configure a Client. The zero value works, without credentials and without a
// cache on disk.
type Options struct {
	// CacheDir holds blobs by digest, shared by any number of processes. Empty: a small
	// cache in memory.
	CacheDir string
	// PlainHTTP talks http to every registry. A registry on loopback is spoken to in
	// plain http anyway; where CAFile or Insecure is given, only one that does not answer in
	// TLS.
	PlainHTTP bool
	// Insecure accepts any TLS certificate.
	Insecure bool
	// CAFile holds PEM certificates that are trusted beside the system's.
	CAFile string
	// DockerConfigDir is the directory of Docker's config.json: logins and credential
	// helpers. Empty for none. A login for host/namespace is used for that namespace only.
	DockerConfigDir string
	// AuthFiles are further files of logins, podman's auth.json, tried in order after
	// Docker's. Missing files are skipped.
	AuthFiles []string
	UserAgent string
	Limits    Limits
	Retry     Retry
	// Proxy chooses the proxy of a request; nil for http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver looks up the addresses of hosts; nil for the system's.
	Resolver *net.Resolver
	// Sources are further schemes.
	Sources []Source
}

// Source is one more kind of place. Package registry brings oci, oci-layout, https and
// file itself.
type Source interface {
	// Scheme is the Locator's Scheme it answers to.
	Scheme() string
	// Open gives the content at a place. What it resolves to is a manifest, an index,
	// or else the one file that is there.
	Open(ctx context.Context, l reference.Locator) (Target, error)
}

// Target is content that is found by reference and read by digest: oras.ReadOnlyTarget. It
// is spelled out here because the package it comes from compiles patterns at every start.
type Target interface {
	content.ReadOnlyStorage
	content.Resolver
}

// Limits bound what is read, in bytes; 0 for the default.
type Limits struct {
	Manifest int64 // a manifest or an index: 4 MiB
	Blob     int64 // a program, and a layer of a container image: 512 MiB
	File     int64 // any other file or layer (a catalog, a definition, a script): 64 MiB
}

// of is how large one file of a role may be, wherever it is. What is decoded takes many
// times its size in memory; a program is only copied.
func (l Limits) of(r mediatypes.Role) int64 {
	if r == mediatypes.RoleExec || r == mediatypes.RoleContainer {
		return l.Blob
	}
	return l.File
}

// Retry says how often a request is tried again after 429, 408, 5xx, a lost connection
// or a time-out; after a time-out once at most. A Retry-After that asks for more than
// MaxWait ends it. It is also how often Attach writes again what others wrote over.
type Retry struct {
	Max     int           // tries after the first; 0 for 5, negative for none
	MinWait time.Duration // before the first, doubled after each; 0 for 200 ms
	MaxWait time.Duration // 0 for 15 s
}

func (o *Options) setDefaults() {
	setDefault(&o.Limits.Manifest, 4<<20)
	setDefault(&o.Limits.Blob, 512<<20)
	setDefault(&o.Limits.File, 64<<20)
	setDefault(&o.Retry.Max, 5)
	setDefault(&o.Retry.MinWait, 200*time.Millisecond)
	setDefault(&o.Retry.MaxWait, 15*time.Second)
	o.Retry.Max = max(o.Retry.Max, 0)
	setDefault(&o.UserAgent, "krmcat")
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
}

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// Client resolves, reads and pushes. It is safe for concurrent use.
type Client struct {
	opts    Options
	retry   transport.Retry
	servers *transport.Transport
	cache   store.Cache
	reads   shared.Calls[string, []byte] // of one digest at one place
	sources map[string]Source

	mu    sync.Mutex
	repos map[string]*remote.Repository // by host/repository: tokens and logins are per repository
}

// Transport is how the client speaks http: with its proxies, certificates, retries and
// limits, for services that are no registry. The caller names the place of every request.
func (c *Client) Transport() http.RoundTripper { return c.servers.Named() }

// New makes a Client. It reads Options.CAFile and nothing else.
func New(o Options) (*Client, error) {
	o.setDefaults()
	retry := transport.Retry(o.Retry)
	servers, err := transport.New(transport.Options{
		PlainHTTP: o.PlainHTTP, Insecure: o.Insecure, CAFile: o.CAFile, DockerConfigDir: o.DockerConfigDir, AuthFiles: o.AuthFiles,
		UserAgent: o.UserAgent, Retry: retry, Proxy: o.Proxy, Resolver: o.Resolver,
	})
	if errors.Is(err, bounded.ErrMore) {
		err = fmt.Errorf("reading certificates: %w", &TooLargeError{Ref: o.CAFile, What: "file", Limit: transport.MaxCAFile})
	}
	if err != nil {
		return nil, err
	}
	c := &Client{
		opts: o, retry: retry, servers: servers, cache: store.NewCache(o.CacheDir),
		sources: map[string]Source{}, repos: map[string]*remote.Repository{}, reads: shared.Calls[string, []byte]{Forget: true},
	}
	for _, s := range o.Sources {
		if _, twice := c.sources[s.Scheme()]; twice {
			return nil, fmt.Errorf("two sources for scheme %q", s.Scheme())
		}
		c.sources[s.Scheme()] = s
	}
	return c, nil
}
