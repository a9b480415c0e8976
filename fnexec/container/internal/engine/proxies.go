package engine

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxDockerConfig is more than docker's config takes, in bytes.
const maxDockerConfig = 1 << 20

// withoutProxies are the options that keep docker from handing on the proxies of its own
// config, with their passwords: it leaves alone what is set, and were it to nothing. Where
// the config has none, nothing is.
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

// hasProxies reports whether docker's config does, or cannot be read by us.
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
