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

// helmPlugins names the directory where helm looks for programs that it runs: downloaders
// for the schemes of URLs, for one.
const helmPlugins = "HELM_PLUGINS"

// lockDown keeps kustomize, for as long as it runs, from starting programs of the host and
// from asking the network, whatever it makes of its input: the rewriting sees to that too,
// and this is the second line. It leaves PATH alone where helm was asked for. Functions do not depend on either: their
// environment was read before. Only one build runs at a time: what is changed here belongs
// to the whole process.
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
		// Else helm looks for them in the configHome of a chart, which is the target's to choose.
		set[helmPlugins] = os.DevNull
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		before, had := os.LookupEnv(name)
		undo = append(undo, func() { restoreEnv(name, before, had) })
		if err := os.Setenv(name, set[name]); err != nil {
			unlock()
			return nil, fmt.Errorf("keeping kustomize to itself: %w", err)
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

// offline is a network that is not there.
type offline struct{}

var errOffline = errors.New("kustomize is kept from the network")

// RoundTrip implements http.RoundTripper.
func (offline) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("%s: %w", r.URL.Host, errOffline)
}
