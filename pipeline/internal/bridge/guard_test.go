package bridge

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"sigs.k8s.io/kustomize/api/konfig"
)

// TestLockDown checks that lockDown disables the network and the programs of the host, and that
// unlock restores both.
func TestLockDown(t *testing.T) {
	t.Setenv(konfig.KustomizePluginHomeEnv, "/plugins")
	t.Setenv(helmPlugins, "")
	if err := os.Unsetenv(helmPlugins); err != nil {
		t.Fatal(err)
	}
	path, transport := os.Getenv("PATH"), http.DefaultTransport
	for _, helm := range []bool{false, true} {
		unlock, err := lockDown(helm)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, errOffline) {
			t.Errorf("a request to the network: %v", err)
		}
		if _, err := exec.LookPath("go"); (err == nil) != helm {
			t.Errorf("with helm %v, looking for a program: %v", helm, err)
		}
		if home := os.Getenv(konfig.KustomizePluginHomeEnv); home != "" {
			t.Errorf("the plugins of kustomize are in %q", home)
		}
		if dir := os.Getenv(helmPlugins); (dir == os.DevNull) != helm {
			t.Errorf("with helm %v, its plugins are in %q", helm, dir)
		}
		unlock()
	}
	_, set := os.LookupEnv(helmPlugins)
	if os.Getenv("PATH") != path || os.Getenv(konfig.KustomizePluginHomeEnv) != "/plugins" || set || http.DefaultTransport != transport {
		t.Error("unlock did not restore everything")
	}
}
