package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// platform returns the platform of the images.
func platform() string { return "linux/" + runtime.GOARCH }

// docker is a Docker Engine.
type docker struct {
	env  []string // variables that name the engine for its clients
	dir  string
	stop func()
}

const (
	// dockerTries is how often startDocker asks an engine that it started for its version, and
	// dockerWait is the time between.
	dockerTries = 150
	dockerWait  = 200 * time.Millisecond
	// answerWithin is how long an engine may take to answer with its version.
	answerWithin = 30 * time.Second
)

// startDocker finds the engine that DOCKER_HOST or the default names. If there is none it starts an
// engine with a directory of its own. The error says why there is no engine.
func startDocker(ctx context.Context, dir string) (docker, error) {
	d := docker{dir: dir, stop: func() {}}
	missing := d.answers(ctx)
	if missing == nil {
		return d, nil
	}
	binary, err := exec.LookPath("dockerd")
	if err != nil || os.Getenv("DOCKER_HOST") != "" {
		return d, missing
	}
	// The directory is not below dir, because the path of a socket has to be short.
	engine, err := os.MkdirTemp("", "krmcat-docker-")
	if err != nil {
		return d, err
	}
	host := "unix://" + filepath.Join(engine, "sock")
	cmd := exec.Command(binary, "--iptables=false", "--ip6tables=false", "--bridge=none", "--storage-driver=vfs", "--log-level=warn",
		"--data-root", filepath.Join(engine, "data"), "--exec-root", filepath.Join(engine, "run"),
		"--pidfile", filepath.Join(engine, "pid"), "--host", host)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	ended := make(chan struct{})
	if err := cmd.Start(); err != nil {
		return d, errors.Join(err, os.RemoveAll(engine))
	}
	go func() { _ = cmd.Wait(); close(ended) }()
	d.env = []string{"DOCKER_HOST=" + host}
	d.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = os.RemoveAll(engine)
	}
	for range dockerTries {
		if missing = d.answers(ctx); missing == nil {
			return d, nil
		}
		select {
		case <-ended:
			return d, fmt.Errorf("dockerd ended: %s", lastLine(said.Bytes()))
		case <-ctx.Done():
			return d, context.Cause(ctx)
		case <-time.After(dockerWait):
		}
	}
	return d, missing
}

// answers asks the engine for its version.
func (d docker) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return d.run(ctx, "version")
}

// pull fetches an image, so that no measured run fetches it.
func (d docker) pull(ctx context.Context, image string) error {
	return d.run(ctx, "pull", "--quiet", image)
}

func (d docker) run(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Env = append(os.Environ(), d.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("docker %s: %w: %s", args[0], err, lastLine(out))
	}
	return nil
}

func lastLine(text []byte) []byte {
	text = bytes.TrimSpace(text)
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
