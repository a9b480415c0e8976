package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/catalog"
	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/pipeline"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/render"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify"
)

// TestPlaces checks the paths of the cache and of the logins in several environments.
func TestPlaces(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the paths are those of linux")
	}
	for name, c := range map[string]struct {
		environ       []string
		cache, docker string
		auth          []string
	}{
		"nothing": {},
		"home": {
			environ: []string{"HOME=/h"}, cache: "/h/.cache/krmcat", docker: "/h/.docker",
			auth: []string{"/h/.config/containers/auth.json"},
		},
		"xdg": {
			environ: []string{"HOME=/h", "XDG_CACHE_HOME=/c", "XDG_RUNTIME_DIR=/r", "XDG_CONFIG_HOME=/g"},
			cache:   "/c/krmcat", docker: "/h/.docker", auth: []string{"/r/containers/auth.json", "/g/containers/auth.json"},
		},
		"named": {
			environ: []string{"HOME=/h", "KRMCAT_CACHE_DIR=mine", "DOCKER_CONFIG=/d", "REGISTRY_AUTH_FILE=a.json", "XDG_RUNTIME_DIR=/r"},
			cache:   "/w/mine", docker: "/d", auth: []string{"/w/a.json"},
		},
		"the last wins": {
			environ: []string{"HOME=/x", "HOME=/h", "HOMER=/y"}, cache: "/h/.cache/krmcat", docker: "/h/.docker",
			auth: []string{"/h/.config/containers/auth.json"},
		},
		"relative is ignored": {
			environ: []string{"HOME=/h", "XDG_CACHE_HOME=c", "XDG_CONFIG_HOME=g"}, cache: "/h/.cache/krmcat", docker: "/h/.docker",
			auth: []string{"/h/.config/containers/auth.json"},
		},
	} {
		p := Process{Dir: "/w", Environ: c.environ}
		if got := filepath.ToSlash(p.cacheDir()); got != c.cache {
			t.Errorf("%s: cache %q, want %q", name, got, c.cache)
		}
		if got := p.dockerConfig(); got != c.docker {
			t.Errorf("%s: docker %q, want %q", name, got, c.docker)
		}
		if diff := cmp.Diff(c.auth, p.authFiles()); diff != "" {
			t.Errorf("%s: logins: -want +got\n%s", name, diff)
		}
	}
}

// TestExitCodes checks the table of exit codes, and their order.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	denied := &sandbox.DeniedError{Refusals: []sandbox.Refusal{{Wants: "the network", Flag: "--network"}}}
	gone := &catalog.NotFoundError{Query: catalog.Query{Config: catalog.IDOf("example.com/v1", "Fn")}}
	unreachable := &registry.UnreachableError{Ref: "oci://example.com/x:y", Err: errors.New("no route")}
	failed := &fnexec.FunctionError{Exit: 1, Err: &fnexec.ExitError{Code: 1}}
	untrusted := &verify.UntrustedError{Ref: "c", Flag: "--trusted-catalog c"}
	for name, c := range map[string]struct {
		err  error
		code int
		try  string
	}{
		"other":       {err: errors.New("odd"), code: 1},
		"syntax":      {err: &pipeline.SyntaxError{Where: "a:1", Msg: "no"}, code: 1},
		"usage":       {err: &usageError{"no", "krmcat pull"}, code: 2, try: "krmcat pull --help"},
		"function":    {err: failed, code: 3},
		"untrusted":   {err: untrusted, code: 4, try: "--trusted-catalog c"},
		"digest":      {err: &registry.DigestError{Ref: "x"}, code: 4},
		"denied":      {err: denied, code: 5, try: "--network"},
		"not found":   {err: &registry.NotFoundError{Ref: "x"}, code: 6},
		"no function": {err: gone, code: 6},
		"no file":     {err: fs.ErrNotExist, code: 6},
		"unreachable": {err: unreachable, code: 7},
		"login":       {err: &registry.UnreachableError{Ref: "oci://example.com/x:y", Status: 401}, code: 7, try: "krmcat login example.com"},
		"wrapped":     {err: fmt.Errorf("so: %w", unreachable), code: 7},
		"step":        {err: &render.StepError{Where: "k:1", Name: "Fn x", Err: denied}, code: 5, try: "--network"},
		"unread catalog": {
			err:  &render.UnresolvedError{NotFound: gone, Untrusted: []pipeline.CatalogRef{{Declared: "c", Where: "k:1"}}},
			code: 4, try: "--trusted-catalog c",
		},
		"two": {err: errors.Join(unreachable, &render.StepError{Err: untrusted}, failed), code: 4},
		"all": {err: errors.Join(failed, unreachable, gone, untrusted, denied), code: 5},
		"a refusal without a flag": {
			err:  &sandbox.DeniedError{Refusals: []sandbox.Refusal{{Wants: "the moon"}, {Wants: "the network", Flag: "--network"}}},
			code: 5,
		},
	} {
		e := &env{errs: discard{}}
		if code := e.report(t.Context(), c.err); code != c.code {
			t.Errorf("%s: exit code %d, want %d", name, code, c.code)
		}
		if found := failure.Reports(c.err); len(found) == 1 && found[0].Try != c.try {
			t.Errorf("%s: try %q, want %q", name, found[0].Try, c.try)
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestJoined checks that joined errors are shown one by one, and other errors unchanged.
func TestJoined(t *testing.T) {
	t.Parallel()
	a, b := errors.New("a"), errors.New("b")
	for _, c := range []struct {
		err  error
		want int
	}{
		{errors.Join(a, b), 2},
		{errors.Join(errors.Join(a, b), nil, errors.New("c"), b), 3},
		{fmt.Errorf("both %w and %w", a, b), 1},
		{&render.StepError{Where: "k", Err: errors.Join(a, b)}, 2},
	} {
		if got := failure.Reports(c.err); len(got) != c.want {
			t.Errorf("%v: %d problems, want %d", c.err, len(got), c.want)
		}
	}
}

// TestMounts parses mounts as docker writes them.
func TestMounts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]sandbox.Mount{
		"type=bind,src=a,dst=/b":                {Type: "bind", Src: "a", Dst: "/b"},
		"source=a,target=/b,rw=true":            {Type: "bind", Src: "a", Dst: "/b", RW: true},
		"type=tmpfs,destination=/t,rw=false":    {Type: "tmpfs", Dst: "/t"},
		"type=bind,src=with=equals,dst=/b,rw=1": {Type: "bind", Src: "with=equals", Dst: "/b", RW: true},
	} {
		if got, err := parseMount(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "src=a", "type=bind,src=a,dst=/b,rw=often", "dst=/b,colour=red"} {
		if _, err := parseMount(text); err == nil {
			t.Errorf("%q is not a mount", text)
		}
	}
}

// FuzzMount checks that no mount crashes the parser.
func FuzzMount(f *testing.F) {
	f.Add("type=bind,src=a,dst=/b,rw=true")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseMount(text); err == nil && m.Dst == "" {
			t.Errorf("%q has no place in the function", text)
		}
	})
}
