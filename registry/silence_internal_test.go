package registry

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmcat/krmcat/registry/internal/transport"
	"github.com/krmcat/krmcat/registry/reference"
)

// silent is a client for which every server accepts the connection, sends begin, and then nothing.
// calls counts the connections.
func silent(t *testing.T, begin string) (c *Client, calls *int) {
	t.Helper()
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	calls = new(int)
	dial := func(context.Context, string, string) (net.Conn, error) {
		*calls++
		ours, theirs := net.Pipe()
		go func() {
			defer func() { _ = theirs.Close() }()
			r := bufio.NewReader(theirs)
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			if _, err := io.WriteString(theirs, begin); err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r) // until the client gives up
		}()
		return ours, nil
	}
	c.servers, err = transport.New(transport.Options{
		PlainHTTP: true, Retry: c.retry, Dial: dial, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return c, calls
}

// TestSilence checks that a server that does not respond is requested twice at most, whichever
// layer repeats requests, and that the wait for the beginning of a response is short.
func TestSilence(t *testing.T) {
	t.Parallel()
	const pin = "@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const half = "HTTP/1.1 200 OK\r\nContent-Type: application/vnd.oci.image.manifest.v1+json\r\nContent-Length: 100\r\n\r\n{"
	for name, c := range map[string]struct {
		ref, begin string
		within     time.Duration
	}{
		"a tag":               {"oci://example.com/fn:v1", "", time.Minute},
		"a digest":            {"oci://example.com/fn" + pin, "", time.Minute},
		"in the midst of one": {"oci://example.com/fn" + pin, half, 4 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, calls := silent(t, c.begin)
			l, err := reference.Parse(c.ref)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, err = client.Resolve(t.Context(), l, Want{})
			var unreachable *UnreachableError
			if !errors.As(err, &unreachable) {
				t.Errorf("%s: got %v, want an UnreachableError", name, err)
			}
			if took := time.Since(start); *calls != 2 || took > c.within+time.Second {
				t.Errorf("%s: asked %d times in %v, want 2 in %v", name, *calls, took, c.within)
			}
		})
	}
}
