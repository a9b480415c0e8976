//go:build linux && !amd64

package main

import "errors"

// askThirtyTwo is of one processor.
func askThirtyTwo() error { return errors.ErrUnsupported }
