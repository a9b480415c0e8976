package engine_test

import (
	"fmt"
	"testing"

	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/install"
)

// TestKinds: what an engine failed for has the kind that the same has without an engine.
func TestKinds(t *testing.T) {
	t.Parallel()
	for want, kinds := range map[failure.Kind][]engine.FailureKind{
		failure.Untrusted:   {engine.Refused},
		failure.NotFound:    {engine.NoImage, engine.NoUser, engine.NoProgram, engine.Unfit, engine.NoInit, engine.NoIDs},
		failure.Unreachable: {engine.Unreachable, engine.NoTLS, engine.NoLogin, ""},
	} {
		for _, k := range kinds {
			err := fmt.Errorf("around: %w", &engine.Error{Engine: engine.Docker, Kind: k})
			if got := failure.Of(err); got != want {
				t.Errorf("%q: got %q, want %q", k, got, want)
			}
		}
	}
}

// TestHints: what each engine needs, in the words of its own files and programs.
func TestHints(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]*engine.Error{
		"--user 0, or --runtime native":     {Engine: engine.Podman, Kind: engine.NoIDs},
		"docker login, or --runtime native": {Engine: engine.Docker, Kind: engine.NoLogin},
		"set insecure = true for the registry in /etc/containers/registries.conf, or --runtime native": {Engine: engine.Podman, Kind: engine.NoTLS},
		"add a hosts.toml for the registry below /etc/containerd/certs.d, or --runtime native":         {Engine: engine.Nerdctl, Kind: engine.NoTLS},
		"add the registry to insecure-registries in /etc/docker/daemon.json, or --runtime native":      {Engine: engine.Docker, Kind: engine.NoTLS},
		install.Command("catatonit"):               {Engine: engine.Podman, Kind: engine.NoInit},
		install.Command("tini"):                    {Engine: engine.Nerdctl, Kind: engine.NoInit},
		"put docker-init into the PATH of dockerd": {Engine: engine.Docker, Kind: engine.NoInit},
		"": {Engine: engine.Docker, Kind: engine.NoImage},
	} {
		if got := err.Details().Try; got != want {
			t.Errorf("%s: %q: try %q, want %q", err.Engine, err.Kind, got, want)
		}
	}
}
