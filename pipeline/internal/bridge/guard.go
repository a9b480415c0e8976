package bridge

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"
)

// helmPlugins is the environment variable that names the directory of helm's plugins. helm runs
// programs from it, for example downloaders for the schemes of URLs.
const helmPlugins = "HELM_PLUGINS"

// lockDown keeps kustomize from starting programs of the host and from using the network until
// unlock is called. The rewriting already prevents both; this is the second barrier, for input that
// kustomize interprets in an unexpected way. If helm is set, PATH stays as it is. Functions do not
// depend on these settings: their environment was read before. Only one build runs at a time,
// because these settings belong to the whole process.
func lockDown(helm bool) (unlock func(), err error) {
	var undo []func()
	unlock = func() {
		for _, u := range undo {
			u()
		}
	}
	set := map[string]string{konfig.KustomizePluginHomeEnv: ""}
	if !helm {
		set["PATH"] = ""
	}
	if _, own := os.LookupEnv(helmPlugins); helm && !own {
		// Otherwise helm looks for plugins in the configHome of a chart, which the target chooses.
		set[helmPlugins] = os.DevNull
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		before, had := os.LookupEnv(name)
		undo = append(undo, func() { restoreEnv(name, before, had) })
		if err := os.Setenv(name, set[name]); err != nil {
			unlock()
			return nil, fmt.Errorf("restricting the environment of kustomize: %w", err)
		}
	}
	transport := http.DefaultTransport
	http.DefaultTransport = offline{}
	undo = append(undo, func() { http.DefaultTransport = transport })
	return unlock, nil
}

func restoreEnv(name, before string, had bool) {
	if had {
		_ = os.Setenv(name, before)
	} else {
		_ = os.Unsetenv(name)
	}
}

// offline is an HTTP transport that refuses every request.
type offline struct{}

var errOffline = errors.New("kustomize must not use the network")

// RoundTrip implements http.RoundTripper.
func (offline) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s: %w", r.URL.Host, errOffline)
}
