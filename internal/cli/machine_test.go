package cli_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/cli"
)

// TestNoMachineDir checks that nothing is trusted if the directory of the machine's policy is not
// known, or is a relative path.
func TestNoMachineDir(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for want, p := range map[string]cli.Process{
		"the policy of this machine: the system does not say where it is: no folder": {NoMachineDir: errors.New("no folder")},
		"etc: this build reads the policy of the machine there":                      {MachineDir: "etc"},
		"": {MachineDir: dir + "/etc"},
	} {
		var out, errs bytes.Buffer
		p.Args, p.Stdin, p.Stdout, p.Stderr = []string{"krmcat", "config", "view"}, strings.NewReader(""), &out, &errs
		p.Dir, p.Environ = dir, []string{"HOME=" + dir}
		code := cli.Main(t.Context(), p)
		if want == "" && code != 0 || want != "" && (code != 4 || !strings.Contains(errs.String(), want) || out.Len() > 0) {
			t.Errorf("%q: exit code %d, %s", want, code, &errs)
		}
	}
}
