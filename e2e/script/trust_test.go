package script

import (
	"errors"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/cli"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/internal/sigtest"
)

// official runs a krmcat that was built with an official catalog. The script names the catalog.
func official() {
	program.Run(cli.Build{Official: os.Getenv("OFFICIAL_CATALOG")})
}

// onMachine runs krmcat as on a machine with a policy of its own. The script says where the policy
// is, and neither a flag nor a variable of krmcat does.
func onMachine() {
	program.Run(cli.Build{MachineDir: os.Getenv("MACHINE_DIR")})
}

// image REF pushes a small container image for two platforms, and prints its reference with the
// digest. The image is the same in every run.
func image(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: image HOST/REPO:TAG")
	}
	ref, err := name.ParseReference(args[0])
	ts.Check(err)
	index, err := random.Index(512, 1, 2, random.WithSource(rand.NewSource(1)))
	ts.Check(err)
	ts.Check(remote.WriteIndex(ref, index))
	d, err := index.Digest()
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(args[0] + "@" + d.String() + "\n"))
	ts.Check(err)
}

// verdict CODE PROGRAM ARG… does the same as exit for krmcat verify, which prints data even if it
// fails.
func verdict(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exit CODE PROGRAM ARG…, or verdict")
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

// sigstore DIR SUBJECT ISSUER [NUMBER=VALUE…] starts a certificate authority, a transparency log
// and a timestamp authority. It writes the files for signing as an identity, and for verifying,
// into a directory: token, trusted_root.json, signing_config.json, … FULCIO, REKOR and TSA are the
// URLs of the services. Each NUMBER is an extension that Fulcio writes into certificates.
func sigstore(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: sigstore DIR SUBJECT ISSUER [NUMBER=VALUE…]")
	}
	s, dir := sigtest.New(t), ts.MkAbs(args[0])
	fields := map[int]string{}
	for _, f := range args[3:] {
		number, value, _ := strings.Cut(f, "=")
		n, err := strconv.Atoi(number)
		ts.Check(err)
		fields[n] = value
	}
	s.Behave(sigtest.Behaviour{Extensions: fields})
	ts.Check(os.MkdirAll(dir, 0o755))
	s.Write(dir, sigtest.Identity{Subject: args[1], Issuer: args[2]})
	ts.Setenv("FULCIO", s.FulcioURL)
	ts.Setenv("REKOR", s.RekorURL)
	ts.Setenv("TSA", s.TSAURL)
}

// secret FILE requires that the last command printed neither a token nor one of its parts.
func secret(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: secret FILE")
	}
	token := strings.TrimSpace(ts.ReadFile(args[0]))
	for _, part := range append(strings.Split(token, "."), token) {
		for _, out := range []string{"stdout", "stderr"} {
			if part != "" && strings.Contains(ts.ReadFile(out), part) {
				ts.Fatalf("%s contains the token", out)
			}
		}
	}
}
