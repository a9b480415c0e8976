//go:build !krmcat_joined || !linux || !amd64

package main

import (
	"github.com/krmcat/krmcat/verify/cosign"
	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// judges is what judges signatures: linked into krmcat, where it is built with go alone.
func judges() cosign.Dial { return judge.Dial }
