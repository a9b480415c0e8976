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

// aboutFormat asks an engine what an image is for, which volumes it declares, and by which digests
// it goes.
const aboutFormat = `{"os":{{json .Os}},"architecture":{{json .Architecture}},"volumes":{{json .Config.Volumes}},"digests":{{json .RepoDigests}}}`

// inspected is what an engine says of an image that it has.
type inspected struct {
	image.Platform
	Volumes map[string]struct{}
	Digests []string // NAME@DIGEST, of the manifest or the index
}

// is reports whether it is the image of a digest.
func (i inspected) is(d digest.Digest) bool {
	return slices.ContainsFunc(i.Digests, func(name string) bool { return strings.HasSuffix(name, "@"+d.String()) })
}

// inspect asks the engine what it has under a name. The error is an *Error, or ctx's.
func (e *Engine) inspect(ctx context.Context, g sandbox.Grant, name string) (inspected, error) {
	said, err := e.ask(ctx, g, "image", "inspect", "--format", aboutFormat, name)
	if err != nil {
		return inspected{}, err
	}
	var i inspected
	if err := json.Unmarshal([]byte(said), &i); err != nil {
		return inspected{}, &Error{Engine: e.name, Msg: "what the image is cannot be read from its answer", Said: err.Error()}
	}
	return i, nil
}

// wanted is an image by the name that an engine is given, which has the digest in it.
type wanted struct {
	image  string
	digest digest.Digest
}

// another says that what an engine has under a name is not what the name says. containerd lets
// any name stand for any image, as nerdctl does when it tags or loads one.
func (e *Engine) another(w wanted, i inspected) *Error {
	has := "one without a digest"
	if len(i.Digests) > 0 {
		has = fmt.Sprintf("%.200q", i.Digests[0])
	}
	return &Error{Engine: e.name, Kind: Refused, Msg: "what it has under the name " + w.image + " is another image, " + has}
}

// local is what the engine has of an image already. there is false where it has to be pulled.
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
		e.options.Warn(e.another(w, i).Error() + ": it is pulled anew")
	}
	return inspected{}, false, nil
}
