//go:build !krmcat_joined || !linux || !amd64

package main

import (
	"github.com/krmcat/krmcat/verify/cosign"
	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// judges uses the verification of signatures that is linked into krmcat, as in a build with go
// alone.
func judges() cosign.Dial { return judge.Dial }
