package sigtest

import (
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/krmcat/krmcat/internal/livetest"
)

// The real programs: tools of package regtest.
const (
	CosignV2 = "cosign-v2"
	CosignV3 = "cosign-v3"
)

// Environ returns the whole environment of a real program. The program then knows the sigstore
// whose files are in dir, and cannot reach other machines.
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

// Run runs one of the real programs with Environ. In its arguments $DIR, $FULCIO, $REKOR and $TSA
// are replaced by dir and the URLs of the services. Out is everything that the program prints.
func (s *Sigstore) Run(dir, program string, args ...string) (out string, err error) {
	s.t.Helper()
	fill := strings.NewReplacer("$DIR", dir, "$FULCIO", s.FulcioURL, "$REKOR", s.RekorURL, "$TSA", s.TSAURL)
	filled := make([]string, len(args))
	for i, a := range args {
		filled[i] = fill.Replace(a)
	}
	cmd := exec.CommandContext(s.t.Context(), livetest.Tool(s.t, program), filled...) //nolint:gosec // the test sets program and arguments
	cmd.Env = Environ(dir)
	all, err := cmd.CombinedOutput()
	return string(all), err
}
