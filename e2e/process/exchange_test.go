//go:build linux

package process

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/filetest"
)

// racesVariable names the variable that sets how often krmcat is called while its programs are
// replaced.
const racesVariable = "KRMCAT_TEST_RACES"

// The function of a race, and the program that an attacker puts in its place.
const (
	rightProgram = "#!/bin/sh\nexec cat\n"
	wrongProgram = "#!/bin/sh\ntouch \"$TMPDIR/wrong\"\nsed s/right/wrong/\n"
)

// TestReplacedPrograms calls krmcat while another process keeps replacing the program in its
// cache, both by another file and by other bytes in the same file. The process belongs to this user
// or to another one. The wrong program never runs: a process of this user cannot replace the
// program between the check and the start, and a cache that another user can write to is refused.
func TestReplacedPrograms(t *testing.T) {
	t.Parallel()
	races := 8
	if text := os.Getenv(racesVariable); text != "" {
		var err error
		if races, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, confine := range []string{"auto", "off"} {
		for name, uid := range map[string]int{"this user": os.Geteuid(), "another": 54321} {
			t.Run(name+", --confine "+confine, func(t *testing.T) {
				t.Parallel()
				if uid != os.Geteuid() && os.Geteuid() != 0 {
					enginetest.Missing(t, "it takes root to be another user")
				}
				newRace(t, uid).run(t, confine, races)
			})
		}
	}
}

// race is a target with one function, and a cache that holds its program.
type race struct {
	dir, cache, program string
	uid                 int // of the process that replaces the program
}

func newRace(t *testing.T, uid int) *race {
	t.Helper()
	dir := filetest.OpenDir(t, os.TempDir())
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(rightProgram)))
	r := &race{dir: dir, cache: filepath.Join(dir, "cache"), uid: uid}
	r.program = filepath.Join(r.cache, "exec", "sha256", sum, "fn.sh")
	for name, text := range map[string]string{
		"app/kustomization.yaml": "resources: [cm.yaml]\ntransformers: [{apiVersion: example.com/v1, kind: Fn}]\n",
		"app/cm.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: right\n",
		"catalog/fn.sh":          rightProgram,
		"catalog/catalog.yaml": "apiVersion: config.kubernetes.io/v1alpha1\nkind: Catalog\nmetadata: {name: c}\nspec:\n  krmFunctions:\n" +
			"  - group: example.com\n    names: {kind: Fn}\n    versions:\n    - name: v1\n      runtime: {exec: {path: fn.sh, sha256: " + sum + "}}\n",
		"theirs/right": rightProgram, "theirs/wrong": wrongProgram,
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), filetest.WriteProgram(path, []byte(text))); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := r.krmcat(t, "auto").CombinedOutput(); err != nil { // fills the cache
		t.Fatalf("%v: %s", err, out)
	}
	if uid != os.Geteuid() {
		for path := r.program; path != dir; path = filepath.Dir(path) {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	return r
}

func (r *race) krmcat(t *testing.T, confine string) *exec.Cmd {
	k := killer{t: t}
	return k.command(r.dir, []string{"render", "app", "--trusted-catalog", "catalog/catalog.yaml", "--confine", confine})
}

// exchange starts to replace the program, until the test ends.
func (r *race) exchange(t *testing.T) {
	t.Helper()
	const theirs = `while :; do
	for text in wrong right; do
		cp "$1/$text" "$2.new" && chmod 755 "$2.new" && mv -f "$2.new" "$2"
		cat "$1/wrong" >"$2"
		cat "$1/right" >"$2"
	done
done 2>/dev/null`
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", theirs, "sh", filepath.Join(r.dir, "theirs"), r.program)
	if r.uid != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(r.uid), Gid: uint32(r.uid)}}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

func (r *race) run(t *testing.T, confine string, races int) {
	t.Helper()
	r.exchange(t)
	const want = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: right\n"
	wrong, refused := 0, 0
	for range races {
		var out, said bytes.Buffer
		cmd := r.krmcat(t, confine)
		cmd.Stdout, cmd.Stderr = &out, &said
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case strings.Contains(out.String(), "wrong"):
			wrong++
		case err == nil && out.String() == want:
		case errors.As(err, &exit) && exit.ExitCode() == 4 && strings.Contains(said.String(), "the cache is not this user's alone"):
			refused++
		default:
			t.Errorf("%v: %s%s", err, &out, &said)
		}
	}
	t.Logf("of %d runs %d were refused, and in %d the wrong program ran", races, refused, wrong)
	if wrong > 0 {
		t.Errorf("the wrong program ran in %d of %d runs", wrong, races)
	}
	if r.uid != os.Geteuid() && refused != races {
		t.Errorf("a cache that another user can write to was used in %d of %d runs", races-refused, races)
	}
}
