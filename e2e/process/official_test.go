package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// top is where go.mod is.
const top = "../.."

// TestOfficialCatalogIsLinked builds krmcat as `make build OFFICIAL_CATALOG=…` does.
func TestOfficialCatalogIsLinked(t *testing.T) {
	t.Parallel()
	const ref = "oci://registry.example.com/official/catalog:v1"
	dry, err := exec.Command("make", "-C", top, "-n", "build", "OFFICIAL_CATALOG="+ref).CombinedOutput()
	if err != nil {
		t.Fatalf("make: %v\n%s", err, dry)
	}
	_, flags, ok := strings.Cut(string(dry), "\ngo build ") // what comes before builds the stages
	_, flags, _ = strings.Cut(flags, "-ldflags \"")
	flags, _, end := strings.Cut(flags, "\"")
	if !ok || !end || !strings.Contains(flags, ref) {
		t.Fatalf("make would build without it: %s", dry)
	}
	krmcat := filepath.Join(t.TempDir(), "krmcat")
	build := exec.Command("go", "build", "-tags", "kustomize_disable_go_plugin_support,urfave_cli_no_docs", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", krmcat, ".")
	build.Dir, build.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	out, err := exec.Command(krmcat, "version", "-o", "go-template={{.officialCatalog}}").Output()
	if err != nil || string(out) != ref {
		t.Errorf("the official catalog is %q: %v", out, err)
	}
}
