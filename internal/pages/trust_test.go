package pages

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmcat/krmcat/internal/livetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/internal/sigtest"
)

// trustPages returns the pages of docs/trust in the order in which their commands are run. Each
// page continues with the results of those before it. least is the number of blocks of commands
// that a page has at least.
func trustPages() []struct {
	name  string
	least int
} {
	return []struct {
		name  string
		least int
	}{
		{"docs/trust/README.md", 3}, {"docs/trust/signing.md", 3}, {"docs/trust/verifying.md", 5},
		{"docs/trust/policies.md", 3}, {fieldsPage, 0}, {rulesPage, 2}, {"docs/trust/unsigned.md", 4},
		{"docs/trust/config.md", 2}, {cosignPage, 0},
	}
}

const (
	fieldsPage = "docs/trust/policy-fields.md"
	rulesPage  = "docs/trust/rules.md"
	cosignPage = "docs/trust/cosign.md"
)

// layOutTrust writes the files of docs/trust, changed by a function.
func (h home) layOutTrust(t *testing.T, change func(string) string) {
	t.Helper()
	for _, p := range trustPages() {
		for _, b := range blocks(page(t, p.name)) {
			if _, name, ok := strings.Cut(b.info, "file="); ok {
				h.write(t, "shop/"+name, change(b.text))
			}
		}
	}
}

// home is a user's home directory with a directory to work in. Pages call it /home/you.
type home struct {
	dir, krmcat string
	path        string  // value of PATH
	host        string  // the registry that pages call registry.example.com
	printed     *string // the digest that the last command printed, for the next command that omits it
	typed       bool    // a page is typed from top to bottom: each file is written where it appears
}

func newHome(t *testing.T) home {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "shop"), 0o755); err != nil {
		t.Fatal(err)
	}
	return home{dir: dir, krmcat: build(t)}
}

func (h home) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(h.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "/home/you", h.dir)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run runs a command of a page, and returns its output in the form that pages show.
func (h home) run(t *testing.T, program string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = filepath.Join(h.dir, "shop")
	cmd.Env = []string{
		"HOME=" + h.dir, "PATH=" + h.path, "COSIGN_PASSWORD=secret", "KRMCAT_CACHE_DIR=" + filepath.Join(h.dir, "cache"),
		"TUF_ROOT=" + filepath.Join(h.dir, "tuf"), "HTTPS_PROXY=http://127.0.0.1:1",
	}
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", program, err)
	}
	if found := regexp.MustCompile(`sha256:[0-9a-f]{64}`).Find(text); found != nil && h.printed != nil {
		*h.printed = string(found)
	}
	shown := strings.ReplaceAll(string(text), h.dir, "/home/you")
	if h.host != "" {
		shown = strings.ReplaceAll(shown, h.host, "registry.example.com")
	}
	shown = regexp.MustCompile(`(?m)^((?:PASS|FAIL) .* \()[0-9.]+m?s\)$`).ReplaceAllString(shown, "${1}12ms)") // time varies
	return regexp.MustCompile(`sha256:([0-9a-f]{64}|[0-9a-f]{12}…)`).ReplaceAllString(shown, "sha256:…"), cmd.ProcessState.ExitCode()
}

// digest returns the full digest of a catalog.
func (h home) digest(t *testing.T, ref string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), h.krmcat, "view", "catalog", ref, "--format", "go-template={{.digest}}")
	cmd.Env = []string{"HOME=" + h.dir}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// here replaces the registry that pages name by the registry of the test, and the digest that pages
// omit by the one that was printed last.
func (h home) here(text string) string {
	if h.printed != nil {
		text = strings.ReplaceAll(text, "sha256:…", *h.printed)
	}
	if h.host == "" {
		return text
	}
	return strings.ReplaceAll(text, "registry.example.com", h.host)
}

// words splits a command line as a shell does. Quotes around a whole word are removed.
func words(line string) []string {
	out := strings.Fields(line)
	for i, w := range out {
		out[i] = strings.Trim(w, "'")
	}
	return out
}

// console runs the commands of a block, and returns the block with their output.
func (h home) console(t *testing.T, b block) string {
	t.Helper()
	want := 0
	if _, text, ok := strings.Cut(b.info, "exit="); ok {
		if _, err := fmt.Sscan(text, &want); err != nil {
			t.Fatalf("line %d: %v", b.line, err)
		}
	}
	var shown []string
	for piece := range strings.SplitSeq(strings.TrimSpace(b.text), "\n\n$ ") {
		command, _, _ := strings.Cut(strings.TrimPrefix(piece, "$ "), "\n")
		out, code := h.run(t, h.krmcat, words(h.here(command))[1:]...)
		if code != want {
			t.Fatalf("line %d: %s: exit code %d, want %d\n%s", b.line, command, code, want, out)
		}
		shown = append(shown, strings.TrimRight("$ "+command+"\n"+out, "\n"))
	}
	return strings.Join(shown, "\n\n") + "\n"
}

// TestTrustPagesRun writes the files of docs/trust and runs the commands of its pages.
// UPDATE_GOLDEN=1 updates the output on the pages.
func TestTrustPagesRun(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the pages use paths of other systems")
	}
	h := newHome(t)
	h.layOutTrust(t, func(text string) string { return text })
	for _, p := range trustPages() {
		h.runPage(t, p.name, p.least)
	}
}

// runPage runs the commands of a page whose files are written. least is the number of its blocks at
// least.
func (h home) runPage(t *testing.T, name string, least int) {
	t.Helper()
	text := page(t, name)
	lines := strings.SplitAfter(text, "\n")
	ran, moved := 0, 0
	for _, b := range blocks(text) {
		switch kind, _, _ := strings.Cut(b.info, " "); {
		case kind == "console":
		case h.typed && strings.Contains(b.info, "file="):
			h.typeFile(t, b)
			continue
		case strings.HasSuffix(b.info, " session"), strings.Contains(b.info, "file="), b.info == "yaml policy", b.info == "yaml pod", b.info == "yaml step", kind == "sh", kind == "text":
			continue
		default:
			t.Errorf("%s, line %d: no test checks this block", name, b.line)
			continue
		}
		ran++
		got := h.console(t, b)
		if diff := cmp.Diff(b.text, got); diff != "" && os.Getenv("UPDATE_GOLDEN") == "" {
			t.Errorf("%s, line %d (UPDATE_GOLDEN=1 updates the page):\n%s", name, b.line, diff)
		}
		from, count := b.line-1-moved, strings.Count(b.text, "\n")
		lines = append(lines[:from:from], append([]string{got}, lines[from+count:]...)...)
		moved += count - 1
	}
	if ran < least {
		t.Errorf("only %d blocks were run", ran)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(filepath.Join(top, filepath.FromSlash(name)), []byte(strings.Join(lines, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCosignPageRuns checks that the cosign CLIs do what the page says, with a registry without
// the referrers API.
func TestCosignPageRuns(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the page uses paths of other systems")
	}
	h, host := newHome(t), regtest.Start(t, regtest.Options{}).Host
	h.layOutTrust(t, func(text string) string {
		return strings.ReplaceAll(text, "oci-layout://store:team-label", "oci://"+host+"/fns/team-label:v1")
	})
	must := func(program string, args ...string) {
		t.Helper()
		if out, code := h.run(t, program, args...); code != 0 {
			t.Fatalf("%s %s: exit code %d\n%s", program, args, code, out)
		}
	}
	must(h.krmcat, "keygen")
	must(h.krmcat, "push", "oci://"+host+"/fns/catalog:v1", "catalog.yaml", "--key", "cosign.key")
	digest := h.digest(t, "oci://"+host+"/fns/catalog:v1")
	fill := strings.NewReplacer("registry.example.com", host, "sha256:…", digest)
	cosigns := map[string]string{"v2": livetest.Tool(t, sigtest.CosignV2), "v3": livetest.Tool(t, sigtest.CosignV3)}
	ran := 0
	for _, b := range blocks(page(t, cosignPage)) {
		version, ok := strings.CutPrefix(b.info, "sh cosign=")
		if !ok {
			continue
		}
		programs := map[string]string{"krmcat": h.krmcat, "cosign": cosigns[version]}
		for line := range strings.Lines(b.text) {
			args := words(fill.Replace(line))
			must(programs[args[0]], args[1:]...)
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands were run", ran)
	}
}
