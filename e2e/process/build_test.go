package process

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/internal/helm"
	"github.com/krmcat/krmcat/internal/shim"
)

// top is the directory with go.mod.
const top = "../.."

// TestBuild checks what `make build OFFICIAL_CATALOG=…` makes. The program knows the catalog. Where
// the file joins two programs, each of them can be started under its name, and no other name starts
// one. A damaged second program never reports success.
func TestBuild(t *testing.T) {
	t.Parallel()
	const ref = "oci://registry.example.com/official/catalog:v1"
	dir := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "make", "-C", top, "build", "BIN="+dir, "OFFICIAL_CATALOG="+ref).CombinedOutput(); err != nil {
		t.Fatalf("make: %v\n%s", err, out)
	}
	krmcat := filepath.Join(dir, "krmcat")
	out, err := exec.CommandContext(t.Context(), krmcat, "version", "--format", "go-template={{.officialCatalog}}").Output()
	if err != nil || string(out) != ref {
		t.Errorf("the official catalog is %q: %v", out, err)
	}
	if err := keygen(t, krmcat); err != nil {
		t.Error(err)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return
	}
	for name, part := range map[string]string{
		"alone":   filepath.Join(dir, "krmcat-alone"),
		"cut off": broken(t, krmcat, func(p *elf.Prog, data []byte) []byte { return data[:p.Off] }),
		"zeroes": broken(t, krmcat, func(p *elf.Prog, data []byte) []byte {
			clear(data[p.Off : p.Off+p.Filesz])
			return data
		}),
	} {
		if err := keygen(t, part); err == nil {
			t.Errorf("%s: it made a key although the program that makes keys is damaged", name)
		}
	}
	const unknown = 120 // shim.ExitUnknown
	for name, want := range map[string]int{
		"krmcat-judge": 1, "krmcat-judges": 0, "krmcat-judg": 0, "krmcat-j": 0, "k": 0, "": 0, "xkrmcat-judge": 0,
		shim.Name: unknown, shim.Name + "s": 0, shim.ProgramPath: unknown, "/x" + shim.ProgramPath: 0,
		"/home/" + helm.Path: 127, helm.Path: 0, "/home/" + helm.Path + "s": 0,
	} {
		cmd := &exec.Cmd{Path: krmcat, Args: []string{name, "version"}, Stdin: strings.NewReader("\x00\x00\x00\x01x"), Env: []string{"HOME=" + dir}}
		var version bytes.Buffer
		cmd.Stdout = &version
		_ = cmd.Run()
		if is := strings.Contains(version.String(), "kustomize"); is != (want == 0) || !is && cmd.ProcessState.ExitCode() != want {
			t.Errorf("as %q: %v, want code %d\n%s", name, cmd.ProcessState, want, version.String())
		}
	}
}

// keygen makes a key. The program that verifies signatures does this.
func keygen(t *testing.T, krmcat string) error {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), krmcat, "keygen")
	cmd.Dir, cmd.Env = dir, []string{"COSIGN_PASSWORD=x", "HOME=" + dir}
	if err := cmd.Run(); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(dir, "cosign.key"))
	return err
}

// broken returns a copy in which change has damaged the last program, the one joined to the first.
func broken(t *testing.T, path string, change func(first *elf.Prog, data []byte) []byte) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	const there = 0x40000000 // where the second program begins in memory
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr >= there {
			copied := filepath.Join(t.TempDir(), "krmcat")
			if err := os.WriteFile(copied, change(p, data), 0o700); err != nil {
				t.Fatal(err)
			}
			return copied
		}
	}
	t.Fatal("the file has no second program")
	return ""
}
