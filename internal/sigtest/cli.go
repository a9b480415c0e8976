package sigtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The real programs, as `make tools` builds them.
const (
	CosignV2 = "cosign-v2"
	CosignV3 = "cosign-v3"
)

// Program returns the path of one of the real programs, and ends the test where it is not
// there.
func Program(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
	}
	path := filepath.Join(dir, "bin", "tools", name)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%s is not there, run `make tools`: %v", name, err)
	}
	return path
}

// Environ is the whole environment for a real program, which then knows the sigstore whose
// files are in dir, and cannot get beyond this machine.
func Environ(dir string) []string {
	return []string{
		"HOME=" + dir, "TUF_ROOT=" + filepath.Join(dir, "tuf"), "PATH=",
		"HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1",
		"SIGSTORE_ROOT_FILE=" + filepath.Join(dir, FulcioRootFile),
		"SIGSTORE_REKOR_PUBLIC_KEY=" + filepath.Join(dir, RekorKeyFile),
		"SIGSTORE_CT_LOG_PUBLIC_KEY_FILE=" + filepath.Join(dir, CTKeyFile),
		"SIGSTORE_TSA_CERTIFICATE_FILE=" + filepath.Join(dir, TSAChainFile),
	}
}

// Run runs one of the real programs with Environ. In its arguments $DIR, $FULCIO, $REKOR and
// $TSA are dir and the URLs of the services. Out is all that it prints.
func (s *Sigstore) Run(dir, program string, args ...string) (out string, err error) {
	s.t.Helper()
	fill := strings.NewReplacer("$DIR", dir, "$FULCIO", s.FulcioURL, "$REKOR", s.RekorURL, "$TSA", s.TSAURL)
	filled := make([]string, len(args))
	for i, a := range args {
		filled[i] = fill.Replace(a)
	}
	cmd := exec.CommandContext(s.t.Context(), Program(s.t, program), filled...) //nolint:gosec // programs and arguments are those of a test
	cmd.Env = Environ(dir)
	all, err := cmd.CombinedOutput()
	return string(all), err
}
