package helm

import "testing"

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"/tmp/home/" + Path:        true,
		Path:                       false, // below a home
		"/usr/bin/krmcat":          false,
		"/usr/bin/helm":            false,
		"/tmp/evil-" + Path:        false,
		"/tmp/home/" + Path + "/x": false,
	} {
		if got := is([]string{name, "template"}); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if is(nil) {
		t.Error("a process without a name is helm")
	}
}
