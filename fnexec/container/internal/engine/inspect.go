package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/sandbox"
)

// aboutFormat is a template for an image's platform, declared volumes and digests.
const aboutFormat = `{"os":{{json .Os}},"architecture":{{json .Architecture}},"volumes":{{json .Config.Volumes}},"digests":{{json .RepoDigests}}}`

// inspected describes a local image of an engine.
type inspected struct {
	image.Platform
	Volumes map[string]struct{}
	Digests []string // NAME@DIGEST, of the manifest or the index
}

// is reports whether the image has a digest.
func (i inspected) is(d digest.Digest) bool {
	return slices.ContainsFunc(i.Digests, func(name string) bool { return strings.HasSuffix(name, "@"+d.String()) })
}

// inspect returns the engine's image by a name. The error is an *Error, or ctx's.
func (e *Engine) inspect(ctx context.Context, g sandbox.Grant, name string) (inspected, error) {
	said, err := e.ask(ctx, g, "image", "inspect", "--format", aboutFormat, name)
	if err != nil {
		return inspected{}, err
	}
	var i inspected
	if err := json.Unmarshal([]byte(said), &i); err != nil {
		return inspected{}, &Error{Engine: e.name, Msg: "its answer about the image cannot be read", Said: err.Error()}
	}
	return i, nil
}

// wanted is an image by the name that the engine is given, which includes the digest.
type wanted struct {
	image  string
	digest digest.Digest
}

// another returns the error for an image whose digest is not the one in its name. containerd
// allows any name for any image, for example when nerdctl tags or loads one.
func (e *Engine) another(w wanted, i inspected) *Error {
	has := "one without a digest"
	if len(i.Digests) > 0 {
		has = fmt.Sprintf("%.200q", i.Digests[0])
	}
	return &Error{Engine: e.name, Kind: Refused, Msg: "what it has under the name " + w.image + " is another image, " + has}
}

// local returns the image if the engine has it. If there is false, it must be pulled.
func (e *Engine) local(ctx context.Context, g sandbox.Grant, w wanted) (i inspected, there bool, err error) {
	if e.options.Pull == PullAlways {
		return inspected{}, false, nil
	}
	i, err = e.inspect(ctx, g, w.image)
	switch {
	case ctx.Err() != nil:
		return inspected{}, false, context.Cause(ctx)
	case err == nil && i.is(w.digest):
		return i, true, nil
	case e.options.Pull == PullNever && err == nil:
		return inspected{}, false, e.another(w, i)
	case e.options.Pull == PullNever:
		return inspected{}, false, &Error{Engine: e.name, Kind: NoImage, Msg: image.NotHere}
	case err == nil:
		e.options.Warn(e.another(w, i).Error() + ": it is pulled again")
	}
	return inspected{}, false, nil
}
