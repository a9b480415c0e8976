package program

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/krmcat/krmcat/internal/cli"
	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
	"github.com/krmcat/krmcat/sandbox"
	"github.com/krmcat/krmcat/verify/cosign/judge"
)

// Main runs the tests of a package, or a command where the executable was started under its
// name: krmcat, or one of those given.
func Main(m *testing.M, more map[string]func()) {
	helm.Leave(os.Args)
	shim.Leave(os.Args)
	commands := map[string]func(){
		"krmcat": func() { Run(cli.Build{}) },
	}
	for name, run := range more {
		commands[name] = run
	}
	plainUmask()
	testscript.Main(m, commands)
}

// Run is krmcat as a builder has made it. It does not return.
func Run(b cli.Build) {
	b.Judge = judge.Dial
	os.Exit(cli.Run(b, os.Exit))
}

// built names a krmcat that was built as users have it. Tests drive it in place of the test's own
// executable, which has what judges signatures linked in.
const built = "KRMCAT_BIN"

// Built returns the path of the krmcat that tests drive, "" for the test's own executable.
func Built() string { return os.Getenv(built) }

// Command prepares to start krmcat.
func Command(ctx context.Context, t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, cmp.Or(Built(), path))
	cmd.Args = append([]string{"krmcat"}, args...)
	return cmd
}

// Confines says why programs cannot be confined here in one of some ways, or in any where none is
// given; nil where they can.
func Confines(engines ...sandbox.Engine) error {
	self, err := os.Executable()
	if err == nil {
		_, _, err = sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self, Engines: engines}).Engine(context.Background())
	}
	return err
}
