//go:build unix

package starlark_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/starlark"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/mediatypes"
	"github.com/krmcat/krmcat/registry"
)

// TestSiblingIsAPipe checks that the other end of a named pipe is not waited for.
func TestSiblingIsAPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "lib.star"), 0o600); err != nil {
		enginetest.Missing(t, "this file system has no named pipes: %v", err)
	}
	p, err := starlark.New().Prepare(node(t, "path: main.star", false), fnexec.Site{Dir: dir, Inline: true})
	if err != nil {
		t.Fatal(err)
	}
	main := registry.Literal(p.Needs.From, mediatypes.RoleStarlark, "main.star", []byte("load(\"lib.star\", \"x\")\n"))
	if _, err = loadPrepared(t, p, main); err == nil || !strings.Contains(err.Error(), "no such module") {
		t.Errorf("got %v", err)
	}
}
