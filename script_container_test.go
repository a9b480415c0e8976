package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/sandbox"
)

// condition knows [confines]: this machine runs container images without a daemon. In
// continuous integration it has to.
func condition(name string) (bool, error) {
	if name != "confines" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	_, _, err = sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self}).Way(context.Background())
	if err != nil && os.Getenv("CI") != "" {
		return false, errors.New("NOT TESTED: " + err.Error())
	}
	return err == nil, nil
}

// function REF pushes an image with the function of fnexectest, which behaves as its first
// argument says, and prints it with its digest.
func function(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: function HOST/REPO:TAG")
	}
	_, err := fmt.Fprintln(ts.Stdout(), enginetest.Push(t, args[0], enginetest.Functions(t)))
	ts.Check(err)
}
