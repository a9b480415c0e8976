package starlark

import (
	"errors"

	"go.starlark.net/starlark"
)

// noSchema is ctx.open_api. A script that asks it for a schema learns that there is none.
type noSchema struct{}

var errNoSchema = errors.New("krmcat gives scripts no schema of Kubernetes: put what the script needs to know into its functionConfig")

// Get implements starlark.Mapping.
func (noSchema) Get(starlark.Value) (starlark.Value, bool, error) { return nil, false, errNoSchema }

// String implements starlark.Value.
func (noSchema) String() string { return "{}" }

// Type implements starlark.Value.
func (noSchema) Type() string { return "open_api" }

// Freeze implements starlark.Value.
func (noSchema) Freeze() {}

// Truth implements starlark.Value.
func (noSchema) Truth() starlark.Bool { return false }

// Hash implements starlark.Value.
func (noSchema) Hash() (uint32, error) { return 0, errors.New("unhashable type: open_api") }
