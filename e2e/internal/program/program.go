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

// Main runs the tests of a package. If the executable was started under the name of a command,
// krmcat or one of more, it runs the command instead.
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

// Run runs krmcat with the settings of a build. It does not return.
func Run(b cli.Build) {
	b.Judge = judge.Dial
	os.Exit(cli.Run(b, os.Exit))
}

// built names the variable with the path of a krmcat that was built as users have it. Tests run it
// in place of their own executable, which has the verification of signatures linked in.
const built = "KRMCAT_BIN"

// Built returns the path of the krmcat that tests run, "" for the test's own executable.
func Built() string { return os.Getenv(built) }

// Command prepares a call of krmcat.
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

// Confines returns why no program can be confined here by one of the engines, or by any engine if
// none is given. It returns nil if programs can be confined.
func Confines(engines ...sandbox.Engine) error {
	self, err := os.Executable()
	if err == nil {
		_, _, err = sandbox.NewHost(sandbox.HostOptions{Environ: os.Environ(), Self: self, Engines: engines}).Engine(context.Background())
	}
	return err
}
