package exec_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/exec"
)

// inner unpacks an archive as verification does.
func inner(ctx context.Context, t *testing.T, data []byte) error {
	t.Helper()
	p, err := exec.New(exec.Options{}).Prepare(node(t, "{bin: tool, uri: 'https://example.com/x'}"), fnexec.Site{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Needs.Inner(ctx, data)
	return err
}

// TestBomb unpacks little to more than a gibibyte: a file of that size before the one that is
// wanted.
func TestBomb(t *testing.T) {
	t.Parallel()
	const chunk, chunks = 16 << 20, 64
	var header bytes.Buffer
	if err := tar.NewWriter(&header).WriteHeader(&tar.Header{Name: "zeros", Mode: 0o644, Size: chunk * chunks}); err != nil {
		t.Fatal(err)
	}
	// gzip reads several streams as one.
	bomb := gzipped(t, header.String())
	zeros := gzipped(t, strings.Repeat("\x00", chunk))
	for range chunks {
		bomb = append(bomb, zeros...)
	}
	if err := inner(t.Context(), t, bomb); err == nil || !strings.Contains(err.Error(), "unpacks to more than 1073741824 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestUnpackingEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	files := map[string]string{"tool": "x"}
	for name, data := range map[string][]byte{"tar.gz": tarGz(t, files), "zip": zipped(t, files)} {
		if err := inner(ctx, t, data); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestBareNameWithSum checks that one bare name never means two programs.
func TestBareNameWithSum(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("ab", 32)
	inline := fnexec.Site{Inline: true, Dir: "/target", Work: "/target"}
	_, err := exec.New(exec.Options{}).Prepare(node(t, "{path: cat, sha256: "+sum+"}"), inline)
	var se *fnexec.SpecError
	if !errors.As(err, &se) || !strings.Contains(err.Error(), "write ./cat") {
		t.Errorf("got %v", err)
	}
	p, err := exec.New(exec.Options{}).Prepare(node(t, "{path: ./cat, sha256: "+sum+"}"), inline)
	if err != nil || p.Needs.From.String() != "/target/cat" || p.Needs.InPlace {
		t.Errorf("got %+v, %v", p.Needs, err)
	}
}
