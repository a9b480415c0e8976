package sandbox_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmcat/krmcat/sandbox"
)

// TestNamesOfBytes checks that names of files, arguments and values of variables may be any bytes
// with every engine: the working directory, a path beside a mount, and both ends of a mount.
func TestNamesOfBytes(t *testing.T) {
	t.Parallel()
	for _, w := range sandbox.AllEngines() {
		t.Run(string(w), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(openToAll(t), "\xfftarget")
			for name, text := range map[string]string{"\xfe": "beside", "src\x80/file": "mounted"} {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text+"\n"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			a := heldBy(t, w)
			a.Target, a.Env = dir, []string{"VALUE=\xf4\x8f\xbc\x80\xff"}
			a.Mounts = []sandbox.Mount{{Type: "bind", Src: "src\x80", Dst: dir + "/new\x81"}}
			g := grant(t, a, sandbox.Request{HostExec: true, StorageMount: true})
			var out, stderr bytes.Buffer
			err := g.Run(t.Context(), sandbox.Cmd{
				Path: "/bin/sh", Args: []string{"-c", `cat "$1" "$2"; printf %s "$VALUE"`, "sh", "\xfe", "new\x81/file"}, Dir: dir,
			}, sandbox.Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr})
			if err != nil || out.String() != "beside\nmounted\n\xf4\x8f\xbc\x80\xff" {
				t.Errorf("%v, %q, %s", err, &out, &stderr)
			}
		})
	}
}
