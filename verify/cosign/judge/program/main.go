package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// lateGC is the growth of the heap before a garbage collection, in percent: this process is
// short-lived.
const lateGC = 400

func main() {
	debug.SetGCPercent(lateGC)
	confine()
	if judge.Serve(context.Background(), os.Stdin, os.Stdout) != nil {
		os.Exit(1) // the caller sees that the response is missing
	}
}
