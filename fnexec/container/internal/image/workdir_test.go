package image

import (
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/regtest"
)

// TestWorkingDir checks that a missing working directory is made inside the image, wherever its
// links lead, and that one that is a file is refused when the image runs.
func TestWorkingDir(t *testing.T) {
	t.Parallel()
	unixOnly(t)
	layer := []member{
		directory("etc"), regular("etc/passwd", "x"), directory("real"), symlink("link", "/real"),
		symlink("out", "../../../../../../../../tmp/none"), symlink("loop", "loop"),
	}
	for work, tc := range map[string]struct{ made, says string }{
		"/no/such":                     {made: "no/such"},
		"no/such":                      {made: "no/such"},
		"/no/../other/":                {made: "no other"},
		"/link/new":                    {made: "real/new"},
		"/out/a":                       {made: "tmp tmp/none tmp/none/a"},
		"/etc":                         {},
		"":                             {},
		"/../..":                       {},
		"/etc/passwd":                  {says: `the working directory "/etc/passwd" is a file`},
		"/etc/passwd/x":                {says: "a part of its path is a file"},
		"/loop/x":                      {says: "more than 255 links"},
		"/" + strings.Repeat("x", 256): {says: "longer than 255 bytes"},
	} {
		f := regtest.Serve(t)
		config := `{"os":"linux","config":{"WorkingDir":"` + work + `"},"rootfs":{"diff_ids":["x"]}}`
		s := newStore(cacheDir(t), bounds{})
		a := publish(t, f, config, pack(t, layer...))
		got, err := s.get(t.Context(), a)
		if err == nil {
			err = got.workingDir()
		}
		if tc.says != "" {
			if !isA[*UnfitError](err) && !isA[*Error](err) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %T %v", work, err, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", work, err)
			continue
		}
		have := listing(t, got.root)
		for _, dir := range strings.Fields(tc.made) {
			if have[dir] != "/" {
				t.Errorf("%s: no %s in %v", work, dir, have)
			}
		}
		if want := len(layer) + len(strings.Fields(strings.Replace(tc.made, "no/such", "no no/such", 1))); len(have) != want {
			t.Errorf("%s: got %v", work, have)
		}
		if _, err := another(s).get(t.Context(), a); err != nil || f.Count("GET", a.Files[0].Digest.Encoded()) != 1 {
			t.Errorf("%s: it is unpacked each time: %v", work, err)
		}
		clean(t, s, true)
	}
}
