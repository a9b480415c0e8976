package engine

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxDockerConfig bounds what is read of docker's config, in bytes.
const maxDockerConfig = 1 << 20

// withoutProxies returns the options that keep docker from passing the proxies of its config,
// with their passwords, to a container: docker does not replace variables that are set, even to
// "". It returns nil if the config has no proxies.
func (e *Engine) withoutProxies() []string {
	if !e.proxies {
		return nil
	}
	var out []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"} {
		out = append(out, "-e", name+"=", "-e", strings.ToLower(name)+"=")
	}
	return out
}

// hasProxies reports whether docker's config has proxies, or cannot be read.
func hasProxies(environ []string) bool {
	var home, dir string
	for _, e := range environ {
		switch name, value, _ := strings.Cut(e, "="); name {
		case "HOME", "USERPROFILE":
			home = value
		case "DOCKER_CONFIG":
			dir = value
		}
	}
	if dir == "" {
		dir = filepath.Join(home, ".docker")
	}
	f, err := os.Open(filepath.Join(dir, "config.json"))
	if err != nil {
		return !os.IsNotExist(err)
	}
	defer func() { _ = f.Close() }()
	var config struct {
		Proxies map[string]json.RawMessage `json:"proxies"`
	}
	err = json.NewDecoder(io.LimitReader(f, maxDockerConfig)).Decode(&config)
	return err != nil || len(config.Proxies) > 0
}
