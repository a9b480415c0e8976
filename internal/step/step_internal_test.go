package step

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"/tmp/home/" + Path:          true,
		"/tmp/home/" + Path + ".exe": true,
		Path:                         false, // not below a plugin home
		"/usr/bin/krmcat":            false,
		"/tmp/Step":                  false,
		"/tmp/evil-" + Path:          false,
		"/tmp/home/" + Path + "/x":   false,
	} {
		if got := is([]string{name, "config"}, Path); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if is(nil, Path) {
		t.Error("a process without a name is a Step")
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for config, want := range map[string]int{
		"apiVersion: krmcat.dev/v1alpha1\nkind: Step\nmetadata:\n  name: step-7\nrun: 7\n": 7,
		"run: 0\n": 0,
		"":         -1,
		"run: x\n": -1,
		"  run: 3": -1,
	} {
		got, err := numberOf(config)
		if err != nil {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", config, got, want)
		}
	}
}

// TestRun calls a render that responds, and some that do not.
func TestRun(t *testing.T) {
	t.Parallel()
	home, err := os.MkdirTemp("", "step") //nolint:usetesting // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	self := filepath.Join(home, filepath.FromSlash(Path))
	call := func(config string) (string, error) {
		file := filepath.Join(home, "config")
		if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := run([]string{self, file}, strings.NewReader("resources"), &out)
		if _, serr := os.Stat(file); (err != nil) != os.IsNotExist(serr) {
			t.Errorf("the config of a step is there: %v, and the step gave %v", serr, err)
		}
		return out.String(), err
	}
	if _, err := call("run: 1\n"); err == nil {
		t.Error("nobody listens, and it went well")
	}
	listener, err := net.Listen("unix", filepath.Join(home, Socket))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	answer := func(status string) chan string {
		asked := make(chan string, 1)
		go func() {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			defer func() { _ = c.Close() }()
			var in bytes.Buffer
			_, _ = in.ReadFrom(c)
			asked <- in.String()
			_, _ = c.Write([]byte(status))
		}()
		return asked
	}
	asked := answer("ok\nanswer")
	if out, err := call("run: 12\n"); err != nil || out != "answer" || <-asked != "12\nresources" {
		t.Errorf("%q, %v", out, err)
	}
	for _, bad := range []string{"", "ok", "no\nanswer"} {
		answer(bad)
		if out, err := call("run: 1\n"); err == nil || out != "" {
			t.Errorf("the render said %q, and the step %q", bad, out)
		}
	}
	if err := run([]string{self}, nil, nil); err == nil {
		t.Error("it ran without a config")
	}
}
