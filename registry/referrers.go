package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/registry/internal/layout"
	"github.com/krmcat/krmcat/registry/internal/manifest"
	"github.com/krmcat/krmcat/registry/reference"
)

// maxReferrerPages limits lists with empty or repeating pages.
const maxReferrerPages = 100

// listing is the list of referrers of a manifest, as reported by a place.
type listing struct {
	found   []ocispec.Descriptor // possible matches of the query, each once
	entries []ocispec.Descriptor // the whole index under the fallback tag, if it was read
	api     bool                 // the registry has the referrers API
}

// list requests the referrers of the subject.
//
// oras-go's list is not used: it treats a page larger than the limit as an interrupted one, and a
// repository that does not exist yet as a registry without the API.
func (r attachmentReader) list(ctx context.Context) (listing, error) {
	if l, ok := r.place.target.(*layout.Layout); ok {
		found, err := r.listLayout(ctx, l)
		return listing{found: found}, err
	}
	repo, ok := r.place.target.(*remote.Repository)
	if !ok {
		return listing{}, nil
	}
	found, served, err := r.listAPI(ctx, repo)
	if err != nil || served {
		return listing{found: found, api: served}, err
	}
	entries, err := r.fallback(ctx)
	if err != nil {
		return listing{}, err
	}
	if len(entries) > maxListed {
		return listing{}, r.tooMany("referrers", maxListed)
	}
	return listing{found: r.candidates(entries), entries: entries}, nil
}

// listLayout reads index.json, which may also list other content: only possible matches count
// towards the limit.
func (r attachmentReader) listLayout(ctx context.Context, l *layout.Layout) ([]ocispec.Descriptor, error) {
	index, err := l.Index()
	if err != nil {
		return nil, err
	}
	all, err := r.fallback(ctx)
	if err != nil {
		return nil, err
	}
	unlisted, err := l.Unlisted(ctx, index, r.subject)
	if err != nil {
		return nil, err
	}
	listed := r.candidates(slices.Concat(index.Manifests, all, unlisted))
	if len(listed) > maxListed {
		return nil, r.tooMany("referrers", maxListed)
	}
	return listed, nil
}

// fallback reads the index under the fallback tag of the referrers API.
func (r attachmentReader) fallback(ctx context.Context) ([]ocispec.Descriptor, error) {
	t, there, err := r.place.tagged(ctx, manifest.FallbackTag(r.subject))
	if err != nil || !there {
		return nil, err
	}
	// Some registries return the manifest with that digest for every tag sha256-HEX.
	if t.doc.Index == nil || t.desc.Digest == r.subject {
		return nil, nil
	}
	return t.doc.Index.Manifests, nil
}

// candidates returns the descriptors that may match the query, with the necessary fields only.
func (r attachmentReader) candidates(all []ocispec.Descriptor) []ocispec.Descriptor {
	var some []ocispec.Descriptor
	seen := map[digest.Digest]bool{r.subject: true}
	for _, d := range all {
		artifactType := d.ArtifactType
		if artifactType == ocispec.MediaTypeEmptyJSON {
			artifactType = "" // some tools use the config's type, which says nothing here
		}
		wanted := artifactType == "" || r.query.wants(artifactType)
		if seen[d.Digest] || !manifest.IsManifest(d.MediaType) || !wanted || !r.query.allows(d.Annotations) {
			continue
		}
		seen[d.Digest] = true
		some = append(some, ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size, ArtifactType: artifactType})
	}
	return some
}

// listAPI requests the referrers API, and reports whether the registry has it.
func (r attachmentReader) listAPI(ctx context.Context, repo *remote.Repository) ([]ocispec.Descriptor, bool, error) {
	next, err := referrersURL(repo, r.subject)
	if err != nil {
		return nil, false, err
	}
	ctx = auth.AppendRepositoryScope(ctx, repo.Reference, auth.ActionPull)
	var listed []ocispec.Descriptor
	count := 0
	for number := range maxReferrerPages {
		var page referrersPage
		err := r.place.client.retry.Do(ctx, func() (err error) {
			page, err = r.askPage(ctx, repo, next)
			return err
		})
		switch {
		case errors.Is(err, errNoAPI) && number == 0:
			return nil, false, nil
		case errors.Is(err, errNoAPI):
			return nil, false, &NotFoundError{Ref: r.place.ref, Reason: "a page of its list of referrers is missing"}
		case err != nil:
			return nil, false, err
		}
		if count += len(page.manifests); count > maxListed {
			return nil, false, r.tooMany("referrers", maxListed)
		}
		listed = append(listed, r.candidates(page.manifests)...)
		if page.next == nil {
			return unique(listed), true, nil
		}
		next = page.next
	}
	return nil, false, r.tooMany("pages of referrers", maxReferrerPages)
}

// unique removes descriptors that an earlier page has.
func unique(ds []ocispec.Descriptor) []ocispec.Descriptor {
	seen := map[digest.Digest]bool{}
	return slices.DeleteFunc(ds, func(d ocispec.Descriptor) bool {
		twice := seen[d.Digest]
		seen[d.Digest] = true
		return twice
	})
}

func referrersURL(repo *remote.Repository, subject digest.Digest) (*url.URL, error) {
	scheme := "https"
	if repo.PlainHTTP {
		scheme = "http"
	}
	ref := repo.Reference
	return url.Parse(fmt.Sprintf("%s://%s/v2/%s/referrers/%s", scheme, ref.Host(), ref.Repository, subject))
}

// referrersPage is one response of the referrers API.
type referrersPage struct {
	manifests []ocispec.Descriptor
	next      *url.URL // nil for the last page
}

var errNoAPI = errors.New("there is no referrers API")

// askPage requests one page. The error is errNoAPI if the registry does not have the API.
func (r attachmentReader) askPage(ctx context.Context, repo *remote.Repository, at *url.URL) (page referrersPage, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return page, err
	}
	req.Header.Set("Accept", ocispec.MediaTypeImageIndex)
	resp, err := repo.Client.Do(req)
	if err != nil {
		return page, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable:
		return page, errNoAPI // statuses of registries without this path
	default:
		return page, &errcode.ErrorResponse{Method: req.Method, URL: at, StatusCode: resp.StatusCode}
	}
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || t != ocispec.MediaTypeImageIndex {
		return page, errNoAPI // an HTML page
	}
	limit := r.place.client.opts.Limits.Manifest
	data, err := bounded.Read(resp.Body, limit)
	if errors.Is(err, bounded.ErrMore) {
		return page, &TooLargeError{Ref: r.place.ref, What: "list of referrers", Limit: limit}
	}
	if err != nil {
		return page, err
	}
	var index ocispec.Index
	if err := json.Unmarshal(data, &index); err != nil {
		return page, &ManifestError{Ref: r.place.ref, Err: fmt.Errorf("its list of referrers is not an index: %s", reference.Clean(err.Error()))}
	}
	page.manifests = index.Manifests
	page.next, err = r.nextPage(resp.Header.Values("Link"), at)
	return page, err
}

// nextPage returns the URL of the next page, nil for the last one. It must be on the same registry,
// so that a list cannot direct requests to another host.
func (r attachmentReader) nextPage(links []string, at *url.URL) (*url.URL, error) {
	target, err := nextLink(links)
	if err == nil && target == "" {
		return nil, nil //nolint:nilnil // the last page has no next one
	}
	var next *url.URL
	if err == nil {
		next, err = at.Parse(target)
	}
	if err != nil || next.Scheme != at.Scheme || next.Host != at.Host || next.User != nil {
		return nil, &UnreachableError{Ref: r.place.ref, Err: errors.New("the next page of its list of referrers is on another host, or its link is invalid")}
	}
	return next, nil
}
