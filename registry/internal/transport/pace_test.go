package transport

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"oras.land/oras-go/v2/registry/remote/retry"
)

// drip is a server that sends size bytes in parts, and waits before each part.
type drip struct {
	size, step int
	wait       time.Duration
}

func (d *drip) RoundTrip(*http.Request) (*http.Response, error) {
	body := *d
	return &http.Response{StatusCode: http.StatusOK, Body: &body}, nil
}

func (d *drip) Read(p []byte) (int, error) {
	if d.size == 0 {
		return 0, io.EOF
	}
	time.Sleep(d.wait) // on the fake clock
	n := min(d.size, d.step, len(p))
	d.size -= n
	return n, nil
}

func (d *drip) Close() error { return nil }

func TestPace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server drip
		want   error
		after  time.Duration
	}{
		"a byte a minute":       {drip{1 << 20, 1, time.Minute}, errTooSlow, 2 * time.Minute},
		"almost 1 KiB a second": {drip{1 << 30, 1023, time.Second}, errTooSlow, 2 * time.Minute},
		"1 KiB a second":        {drip{1 << 20, 1024, time.Second}, nil, 1024 * time.Second},
		"little, slowly":        {drip{100, 1, time.Second}, nil, 100 * time.Second},
		"slow at the end":       {drip{3, 1, time.Minute}, errTooSlow, 2 * time.Minute},
		"much now and then":     {drip{120 * 8 << 10, 8 << 10, 5 * time.Second}, nil, 10 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			resp, err := pacer{&c.server}.RoundTrip(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err = io.Copy(io.Discard, resp.Body); !errors.Is(err, c.want) || time.Since(start) != c.after {
				t.Errorf("%s: %v after %v, want %v after %v", name, err, time.Since(start), c.want, c.after)
			}
		})
	}
}

// TestPaceIsKept checks that every request uses the pacer.
func TestPaceIsKept(t *testing.T) {
	t.Parallel()
	c, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	outer, ok := c.http.Transport.(*retry.Transport)
	if !ok {
		t.Fatalf("the transport is a %T", c.http.Transport)
	}
	if _, ok := outer.Base.(pacer); !ok {
		t.Errorf("below the retries is a %T", outer.Base)
	}
}
