//go:build linux && !amd64

package main

import "errors"

// askThirtyTwo exists for amd64 only.
func askThirtyTwo() error { return errors.ErrUnsupported }
