package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/registry"
)

// imageConfig is what an image says about how it is run.
type imageConfig struct {
	Entrypoint []string
	Cmd        []string
	Env        []string // NAME=value
	WorkingDir string   // absolute; "/" where the image does not say
	User       string   // user[:group], names or numbers; "" where the image does not say
	Platform   Platform
	Diffs      []string // the digest of what each layer unpacks to, the lowest first
}

// argv is the program and its arguments.
func (c imageConfig) argv(instead Command) []string {
	switch {
	case len(instead.Program) > 0:
		return slices.Concat(instead.Program, instead.Args)
	case len(instead.Args) > 0:
		return slices.Concat(c.Entrypoint, instead.Args)
	}
	return slices.Concat(c.Entrypoint, c.Cmd)
}

// defaultPath is where programs are looked for in an image that does not say.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (c imageConfig) path() string {
	for _, e := range slices.Backward(c.Env) {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			return v
		}
	}
	return defaultPath
}

// decodeConfig reads a config of a known size for an image of so many layers.
func decodeConfig(data []byte, layers int) (imageConfig, error) {
	var doc struct {
		Platform
		Config struct {
			Entrypoint []string
			Cmd        []string
			Env        []string
			WorkingDir string
			User       string
		} `json:"config"`
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return imageConfig{}, fmt.Errorf("its config is not JSON of the right shape: %w", err)
	}
	c := imageConfig{
		Entrypoint: doc.Config.Entrypoint, Cmd: doc.Config.Cmd, Env: doc.Config.Env,
		WorkingDir: doc.Config.WorkingDir, User: doc.Config.User, Platform: doc.Platform, Diffs: doc.RootFS.DiffIDs,
	}
	if !strings.HasPrefix(c.WorkingDir, "/") {
		c.WorkingDir = "/" + c.WorkingDir
	}
	if len(doc.RootFS.DiffIDs) != layers {
		return imageConfig{}, fmt.Errorf("its config tells of %d layers, its manifest of %d", len(doc.RootFS.DiffIDs), layers)
	}
	for _, s := range slices.Concat(c.Entrypoint, c.Cmd, c.Env, []string{c.WorkingDir, c.User}) {
		if strings.ContainsRune(s, 0) {
			return imageConfig{}, errors.New("its config holds a zero byte")
		}
	}
	return c, nil
}

// layerTypes are the media types of layers that hold files, without what says how they are
// compressed: that is seen from their first bytes.
func layerTypes() []string {
	return []string{
		"application/vnd.oci.image.layer.v1.tar",
		"application/vnd.oci.image.layer.nondistributable.v1.tar",
		"application/vnd.docker.image.rootfs.diff.tar",
		"application/vnd.docker.image.rootfs.foreign.diff.tar",
	}
}

// checkManifest refuses what cannot be unpacked before anything is fetched.
func checkManifest(a registry.Artifact, limits bounds) error {
	name := a.Pinned().Display()
	switch {
	case a.Manifest.Digest == "" || a.Config.Digest == "":
		return &Error{Image: name, Err: errors.New("it is not a container image")}
	case int64(len(a.Files)) > limits.layers:
		return &LimitError{Image: name, What: "layers", Limit: limits.layers}
	case a.Config.Size > limits.config:
		return &LimitError{Image: name, What: "bytes of config", Limit: limits.config}
	}
	for _, f := range a.Files {
		base, _, _ := strings.Cut(f.MediaType, "+")
		if base = strings.TrimSuffix(base, ".gzip"); !slices.Contains(layerTypes(), base) {
			return &Error{Image: name, Layer: f.Digest, Err: fmt.Errorf("its type is %.100q, which holds no files", f.MediaType)}
		}
	}
	return nil
}
