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

// Options configure a Client. The zero value has no credentials and no cache on disk.
type Options struct {
	// CacheDir is the cache of blobs by digest, which several processes may share. "" means a
	// small cache in memory.
	CacheDir string
	// PlainHTTP uses http for every registry. A registry on loopback is always requested over
	// http; if CAFile or Insecure is set, only if it has no TLS.
	PlainHTTP bool
	// Insecure accepts any TLS certificate.
	Insecure bool
	// CAFile has PEM certificates that are trusted in addition to those of the system.
	CAFile string
	// DockerConfigDir is the directory of Docker's config.json with credentials and credential
	// helpers, "" for none. Credentials for host/namespace are used for that namespace only.
	DockerConfigDir string
	// AuthFiles are further files with credentials (podman's auth.json), tried in order after
	// Docker's. Missing files are ignored.
	AuthFiles []string
	UserAgent string
	Limits    Limits
	Retry     Retry
	// Proxy chooses the proxy of a request; nil for http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// Resolver looks up the addresses of hosts; nil for the system's.
	Resolver *net.Resolver
	// Watch is told of the body of each request and response when it begins, and must return at
	// once. Nil for nobody.
	Watch func(*Transfer)
	// Sources add schemes.
	Sources []Source
}

// Transfer is the body of a request or of a response on its way.
type Transfer = transport.Transfer

// Source adds a scheme of references. Package registry itself supports oci, oci-layout, https and
// file.
type Source interface {
	// Scheme returns the Scheme of the Locators that it opens.
	Scheme() string
	// Open returns the content at a place. It resolves to a manifest, an index, or a single file.
	Open(ctx context.Context, l reference.Locator) (Target, error)
}

// Target is content that is resolved by reference and read by digest: oras.ReadOnlyTarget. It is
// declared here because that package compiles regular expressions at start.
type Target interface {
	content.ReadOnlyStorage
	content.Resolver
}

// Limits are the maximum sizes of what is read, in bytes; 0 for the default.
type Limits struct {
	Manifest int64 // a manifest or an index: 4 MiB
	Blob     int64 // a program, and a layer of a container image: 512 MiB
	File     int64 // any other file or layer (a catalog, a definition, a script): 64 MiB
}

// of returns the maximum size of one file of a role. Decoded content needs a multiple of its size
// in memory; programs are only copied.
func (l Limits) of(r mediatypes.Role) int64 {
	if r == mediatypes.RoleExec || r == mediatypes.RoleContainer {
		return l.Blob
	}
	return l.File
}

// Retry says how often a request is repeated after status 429, 408 or 5xx, a lost connection or a
// timeout; after a timeout once at most. A Retry-After larger than MaxWait ends the attempts.
// Attach uses it as well, if others overwrite what it wrote.
type Retry struct {
	Max     int           // attempts after the first; 0 for 5, negative for none
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
	reads   shared.Calls[string, []byte] // by digest and place
	sources map[string]Source

	mu    sync.Mutex
	repos map[string]*remote.Repository // by host/repository: tokens and credentials are per repository
}

// Transport returns an http.RoundTripper with the client's proxies, certificates, retries and
// limits, for services other than registries. The caller must choose the URL of every request.
func (c *Client) Transport() http.RoundTripper { return c.servers.Named() }

// New returns a Client. It reads Options.CAFile and nothing else.
func New(o Options) (*Client, error) {
	o.setDefaults()
	retry := transport.Retry(o.Retry)
	servers, err := transport.New(transport.Options{
		PlainHTTP: o.PlainHTTP, Insecure: o.Insecure, CAFile: o.CAFile, DockerConfigDir: o.DockerConfigDir, AuthFiles: o.AuthFiles,
		UserAgent: o.UserAgent, Retry: retry, Proxy: o.Proxy, Resolver: o.Resolver, Watch: o.Watch,
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
