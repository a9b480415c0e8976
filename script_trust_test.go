package main

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"
)

// official is krmcat built with an official catalog, which a script names.
func official() {
	officialCatalog = os.Getenv("OFFICIAL_CATALOG")
	main()
}

// image REF pushes a small container image, for two platforms, and prints it with its digest.
func image(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: image HOST/REPO:TAG")
	}
	ref, err := name.ParseReference(args[0])
	ts.Check(err)
	index, err := random.Index(512, 1, 2)
	ts.Check(err)
	ts.Check(remote.WriteIndex(ref, index))
	d, err := index.Digest()
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(args[0] + "@" + d.String() + "\n"))
	ts.Check(err)
}

// verdict CODE PROGRAM ARG… is exit for a command whose answer is data too where it is no:
// krmcat verify.
func verdict(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: verdict CODE PROGRAM ARG…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended interface{ ExitCode() int }
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
	if errs := ts.ReadFile("stderr"); strings.Contains(errs, "goroutine ") || strings.Contains(errs, "panic:") {
		ts.Fatalf("it crashed")
	}
}
