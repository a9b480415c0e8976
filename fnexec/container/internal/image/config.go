package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/registry"
)

// imageConfig is the part of an image's config that says how it runs.
type imageConfig struct {
	Entrypoint []string
	Cmd        []string
	Env        []string // KEY=VALUE
	WorkingDir string   // absolute; "/" by default
	User       string   // user[:group], names or numbers; "" for none
	Platform   Platform
	Diffs      []string // the digests of the uncompressed layers, the lowest first
}

// argv returns the program and its arguments.
func (c imageConfig) argv(instead Command) []string {
	switch {
	case len(instead.Program) > 0:
		return slices.Concat(instead.Program, instead.Args)
	case len(instead.Args) > 0:
		return slices.Concat(c.Entrypoint, instead.Args)
	}
	return slices.Concat(c.Entrypoint, c.Cmd)
}

// defaultPath is the PATH for an image without one.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func (c imageConfig) path() string {
	for _, e := range slices.Backward(c.Env) {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			return v
		}
	}
	return defaultPath
}

// decodeConfig decodes the config of an image with the given number of layers.
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

// layerTypes returns the media types of layers with files, without their suffix for the
// compression, which is recognised by the content.
func layerTypes() []string {
	return []string{
		"application/vnd.oci.image.layer.v1.tar",
		"application/vnd.oci.image.layer.nondistributable.v1.tar",
		"application/vnd.docker.image.rootfs.diff.tar",
		"application/vnd.docker.image.rootfs.foreign.diff.tar",
	}
}

// checkManifest refuses an image that cannot be unpacked, before anything is fetched.
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
