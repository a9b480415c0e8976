package container

import (
	"github.com/krmcat/krmcat/fnexec/container/internal/engine"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
)

// The errors of the packages below.
type (
	// EngineError says that an engine failed and that the function was not started.
	EngineError = engine.Error
	// FailureKind is what an engine failed for.
	FailureKind = engine.FailureKind

	// ImageError says that an image is not one that can be unpacked and run.
	ImageError = image.Error
	// ImageLimitError says that an image holds more than krmcat unpacks.
	ImageLimitError = image.LimitError
	// UnfitError says that an image is not one that runs here.
	UnfitError = image.UnfitError
	// NotHereError says that an image is not on this machine, and that none is fetched.
	NotHereError = image.NotHereError
	// ChangedError says that an image in the cache is not what was unpacked, and that none is
	// fetched.
	ChangedError = image.ChangedError
	// NotComparedError says that an image in the cache cannot be compared with its layers.
	NotComparedError = image.NotComparedError
	// NoCacheError says that there is no cache in which an image can be unpacked and run.
	NoCacheError = image.NoCacheError
)

// What engines fail for.
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
