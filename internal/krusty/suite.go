package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	apiModule = "sigs.k8s.io/kustomize/api"
	tags      = "kustomize_disable_go_plugin_support"
)

// suite is the test program and its directories.
type suite struct{ program, dir, home string }

// build copies kustomize's api module below dir, replaces the files of the harness, and compiles
// the tests.
func (o options) build(ctx context.Context, dir string) (suite, error) {
	from, err := o.module(ctx)
	if err != nil {
		return suite{}, err
	}
	api := filepath.Join(dir, "api")
	if err := os.CopyFS(api, os.DirFS(from)); err != nil { // makes the files writable
		return suite{}, fmt.Errorf("copying kustomize's api module: %w", err)
	}
	if err := overlay(o.harness, api); err != nil {
		return suite{}, err
	}
	s := suite{program: filepath.Join(dir, "krusty.test"), dir: filepath.Join(api, "krusty"), home: filepath.Join(dir, "home")}
	compile := exec.CommandContext(ctx, "go", "test", "-c", "-trimpath", "-vet=off", "-mod=readonly", "-tags", tags, "-o", s.program, "./krusty")
	compile.Dir = api
	compile.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if text, err := compile.CombinedOutput(); err != nil {
		return suite{}, fmt.Errorf("compiling kustomize's tests: %w\n%s", err, text)
	}
	return s, os.MkdirAll(s.home, 0o755)
}

// module returns the directory of the api module that krmcat requires, and checks that both
// programs are built on it.
func (o options) module(ctx context.Context) (dir string, err error) {
	text, err := exec.CommandContext(ctx, "go", "list", "-m", "-json", apiModule).Output()
	if err != nil {
		return "", fmt.Errorf("finding kustomize's api module: %w", err)
	}
	var found struct{ Version, Dir string }
	if err := json.Unmarshal(text, &found); err != nil {
		return "", fmt.Errorf("finding kustomize's api module: %w", err)
	}
	for _, program := range []string{o.kustomize, o.krmcat} {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return "", fmt.Errorf("reading the modules of a program: %w", err)
		}
		for _, m := range info.Deps {
			if m.Path == apiModule && m.Version != found.Version {
				return "", fmt.Errorf("%s is built on %s %s, and go.mod requires %s", program, apiModule, m.Version, found.Version)
			}
		}
	}
	return found.Dir, nil
}

// overlay replaces files. A file that replaces none is an error: the original has another name now,
// and would still be in use.
func overlay(from, to string) error {
	files := os.DirFS(from)
	return fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		at := filepath.Join(to, filepath.FromSlash(path))
		if _, err := os.Stat(at); err != nil {
			return fmt.Errorf("the harness replaces a file that kustomize does not have: %w", err)
		}
		return os.WriteFile(at, data, 0o644)
	})
}

// run runs the tests with a program, and with a reference program unless that is "". Nothing is
// fetched: git may use files only, and neither the container engine nor the proxy exists.
func (s suite) run(ctx context.Context, program, reference, only string) (outcomes, []byte, error) {
	args := []string{"-test.v=test2json", "-test.timeout=9m"}
	if only != "" {
		args = append(args, "-test.run="+only)
	}
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Dir = s.dir
	const nobody = "http://127.0.0.1:1"
	cmd.Env = append(os.Environ(), "PWD="+s.dir, "HOME="+s.home, "XDG_CONFIG_HOME="+s.home, "XDG_CACHE_HOME="+s.home,
		"KRUSTY_PROGRAM="+program, "KRUSTY_REFERENCE="+reference,
		"GIT_ALLOW_PROTOCOL=file", "DOCKER_HOST=unix:///nonexistent", "HTTP_PROXY="+nobody, "HTTPS_PROXY="+nobody, "NO_PROXY=")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, nil, fmt.Errorf("running kustomize's tests: %w", err)
	}
	if strings.Contains(out.String(), "\npanic: ") {
		return nil, nil, fmt.Errorf("kustomize's tests with %s ended early:\n%s", program, out.String())
	}
	return readOutcomes(out.Bytes()), out.Bytes(), nil
}
