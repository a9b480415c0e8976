package openapi

import (
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// Use runs build with kyaml's process-wide schema to itself, as it was compiled in. kyaml
// keeps what one kustomization set (`openapi.path`) for whatever is built next in the
// process, even where it is told to start anew: a build that sets a schema has to say so,
// and the next one starts from a clean one. That costs a parse, so it is not done for
// builds that leave the schema alone.
func Use(setsSchema bool, build func() error) error {
	global.Lock()
	defer global.Unlock()
	if global.dirty {
		openapi.ResetOpenAPI()
	}
	global.dirty = setsSchema
	return build()
}

// global guards what is global in kyaml, and nothing of our own.
var global struct { //nolint:gochecknoglobals // kyaml's schema is one for the whole process
	sync.Mutex
	dirty bool
}
