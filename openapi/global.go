package openapi

import (
	"sync"

	"sigs.k8s.io/kustomize/kyaml/openapi"
)

// Use runs build with exclusive use of kyaml's process-wide schema, as it was compiled in. kyaml
// keeps what one kustomization set (`openapi.path`) for the next build of the process, even if it
// is told to start anew. So a build that sets a schema must say so, and the next build resets it. A
// reset costs a parse: builds that leave the schema alone do without.
func Use(setsSchema bool, build func() error) error {
	global.Lock()
	defer global.Unlock()
	if global.dirty {
		openapi.ResetOpenAPI()
	}
	global.dirty = setsSchema
	return build()
}

// global guards the global state of kyaml, and none of this package.
var global struct { //nolint:gochecknoglobals // kyaml's schema is one for the whole process
	sync.Mutex
	dirty bool
}
