package script

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/krmcat/krmcat/e2e/internal/program"
	"github.com/krmcat/krmcat/fnexec/container"
	"github.com/krmcat/krmcat/internal/enginetest"
	"github.com/krmcat/krmcat/internal/regtest"
	"github.com/krmcat/krmcat/sandbox"
)

// condition evaluates the conditions of scripts:
//
//   - [confines]: this machine can confine programs without a daemon.
//   - [runs:ENGINE]: this machine has the engine.
//   - [root]: the user may change the owner of files.
//   - [unshare]: the user may mount file systems in a mount namespace.
//   - [has:PROGRAM]: the program is on the PATH.
//
// It prints why a condition does not hold. In continuous integration that is an error.
func condition(name string) (bool, error) {
	var err error
	switch what, _ := strings.CutPrefix(name, "runs:"); {
	case name == "confines":
		err = program.Confines()
	case name == "root":
		if os.Geteuid() != 0 {
			err = errors.New("this user is not root")
		}
	case name == "unshare":
		err = exec.Command("unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt").Run()
	case strings.HasPrefix(name, "has:"): // testscript's exec: skips in continuous integration too
		_, err = exec.LookPath(strings.TrimPrefix(name, "has:"))
	case what == name:
		return false, fmt.Errorf("unknown condition %q", name)
	case what == container.Podman:
		err = enginetest.PodmanRuns()
	case slices.Contains(container.Engines(), what):
		err = exec.Command(what, "info").Run()
	default:
		err = program.Confines(sandbox.Engine(what))
	}
	if err != nil && os.Getenv("CI") != "" {
		return false, fmt.Errorf("NOT TESTED: %s: %w", name, err)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "NOT TESTED: %s: %v\n", name, err)
	}
	return err == nil, nil
}

// shell REF FILE [ARCH…] pushes an image with a shell, which a YAML file describes, and prints its
// reference with the digest. With architectures it pushes an index of one image for each, in which
// /etc/arch names the architecture.
func shell(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: shell HOST/REPO:TAG FILE [ARCH…]")
	}
	described := struct {
		v1.Config
		Files map[string]string // text by path; the files are executable
		Data  map[string]string // text by path
		Links map[string]string // target by path
		Bytes map[string]string // Go string literal by path, for content that is not UTF-8 and so not YAML
		Login bool              // the registry requires a login
		For   v1.Platform       // the platform in the image's config
	}{}
	ts.Check(yaml.UnmarshalStrict([]byte(ts.ReadFile(args[1])), &described))
	made := func(arch string) enginetest.Image {
		more := enginetest.Layer{"bin/say": {Data: []byte(say)}, "etc/arch": {Data: []byte(arch + "\n"), Mode: 0o644}}
		for path, text := range described.Files {
			more[path] = enginetest.File{Data: []byte(text)}
		}
		for path, text := range described.Data {
			more[path] = enginetest.File{Data: []byte(text), Mode: 0o644}
		}
		for literal, text := range described.Bytes {
			path, err := strconv.Unquote(literal)
			ts.Check(err)
			more[path] = enginetest.File{Data: []byte(text), Mode: 0o644}
		}
		for path, to := range described.Links {
			more[path] = enginetest.File{Link: to}
		}
		i := enginetest.Shell(t, more)
		i.Arch, i.OS = cmp.Or(arch, described.For.Architecture), described.For.OS
		if described.Entrypoint != nil || described.Cmd != nil {
			i.Config.Entrypoint = described.Entrypoint
		} else {
			i.Config.Entrypoint = []string{"/bin/say"}
		}
		i.Config.Cmd, i.Config.WorkingDir, i.Config.User = described.Cmd, described.WorkingDir, described.User
		i.Config.Env = append(i.Config.Env, described.Env...)
		return i
	}
	var ref string
	switch login := remote.WithAuth(&authn.Basic{Username: regtest.User, Password: regtest.Password}); {
	case len(args) > 2:
		var images []enginetest.Image
		for _, arch := range args[2:] {
			images = append(images, made(arch))
		}
		ref = enginetest.PushIndex(t, args[0], images...)
	case described.Login:
		ref = enginetest.Push(t, args[0], made(""), login)
	default:
		ref = enginetest.Push(t, args[0], made(""))
	}
	_, err := fmt.Fprintln(ts.Stdout(), ref)
	ts.Check(err)
}

// say is the function of those images. It does what its arguments say, and returns a ConfigMap with
// the output.
const say = `#!/bin/sh
out=$(eval "$*" 2>&1)
code=$?
[ $code = 0 ] || { echo "$out" >&2; exit $code; }
echo 'apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: said}
  data:
    text: |-'
echo "$out" | while IFS= read -r line; do echo "      $line"; done
`

// function REF pushes an image with the function of fnexectest, which behaves as its first argument
// says, and prints its reference with the digest.
func function(t *testing.T, ts *testscript.TestScript, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: function HOST/REPO:TAG")
	}
	_, err := fmt.Fprintln(ts.Stdout(), enginetest.Push(t, args[0], enginetest.Functions(t)))
	ts.Check(err)
}

// rewrite DIR OLD NEW replaces a word in every file below a directory. At least one file must
// contain it.
func rewrite(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: rewrite DIR OLD NEW")
	}
	found := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(data, []byte(args[1])) {
			return err
		}
		found++
		return os.WriteFile(path, bytes.ReplaceAll(data, []byte(args[1]), []byte(args[2])), 0o644)
	}))
	if found == 0 {
		ts.Fatalf("no file below %s contains %q", args[0], args[1])
	}
}
