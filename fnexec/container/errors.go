package container

import (
	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
)

// The errors of the packages below.
type (
	// EngineError reports that a container engine failed before the function was started.
	EngineError = engine.Error
	// FailureKind is the kind of an EngineError.
	FailureKind = engine.FailureKind

	// ImageError reports that an image cannot be unpacked and run.
	ImageError = image.Error
	// ImageLimitError reports that an image exceeds a limit of unpacking.
	ImageLimitError = image.LimitError
	// UnfitError reports that an image does not run on this machine.
	UnfitError = image.UnfitError
	// NotHereError reports that an image is not on this machine and must not be fetched.
	NotHereError = image.NotHereError
	// ChangedError reports that a cached image was changed and must not be fetched again.
	ChangedError = image.ChangedError
	// NotComparedError reports that a cached image cannot be compared with its layers.
	NotComparedError = image.NotComparedError
	// NoCacheError reports that there is no cache in which an image can be unpacked and run.
	NoCacheError = image.NoCacheError
)

// The kinds of an EngineError.
const (
	Unreachable = engine.Unreachable
	NoImage     = engine.NoImage
	NoUser      = engine.NoUser
	NoProgram   = engine.NoProgram
	Unfit       = engine.Unfit
	NoTLS       = engine.NoTLS
	NoIDs       = engine.NoIDs
	Refused     = engine.Refused
	NoInit      = engine.NoInit
)
