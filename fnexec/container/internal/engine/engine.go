package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/fnexec/container/internal/image"
	"github.com/krmcat/krmcat/internal/bounded"
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/registry/reference"
	"github.com/krmcat/krmcat/sandbox"
)

// The names of the engines.
const (
	Docker  = "docker"
	Podman  = "podman"
	Nerdctl = "nerdctl"
)

// PullPolicy says when an image is fetched.
type PullPolicy string

// The pull policies. Images are named by digest, so that a local one is never outdated.
const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Options say how engines are called.
type Options struct {
	Pull PullPolicy
	// Environ is this process's environment, as KEY=VALUE. Engines are looked up in its PATH.
	Environ []string
	// Notify is called with what is pulled, and with containers that may still run.
	Notify func(string)
	// Warn is called with known limitations of an engine.
	Warn func(string)
}

// Engine is an installed container engine.
type Engine struct {
	options Options
	name    string // Docker, Podman or Nerdctl
	asked   string // the program's name
	path    string

	proxies bool     // docker's config has proxies, which it would pass on
	passes  bool     // a container can get krmcat's streams themselves
	first   []string // the options for a first process above the function
}

// ErrNotInPath reports that an engine is not installed.
var ErrNotInPath = errors.New("it is not in PATH")

// Find looks up an engine's program. It starts nothing. The error is ErrNotInPath.
func Find(name string, o Options) (*Engine, error) {
	path, err := sandbox.FindProgram(name, o.Environ)
	if err != nil {
		return nil, ErrNotInPath
	}
	return &Engine{options: o, name: name, asked: name, path: path}, nil
}

// String returns the engine's name for people: "podman", "docker, which is podman".
func (e *Engine) String() string {
	if e.name != e.asked {
		return e.asked + ", which is " + e.name
	}
	return e.name
}

// askTimeout bounds queries that the engine answers without the network.
const askTimeout = 10 * time.Second

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 64 << 10

// ask runs a command of the engine and returns its stdout. The error is an *Error, or ctx's.
func (e *Engine) ask(ctx context.Context, g sandbox.Grant, args ...string) (string, error) {
	out, stderr := &bounded.Head{Max: maxAnswer}, &bounded.Head{Max: maxAnswer}
	err := g.RunContainerEngine(ctx, sandbox.ContainerEngineCmd{Path: e.path, Args: args}, sandbox.Streams{Stdout: out, Stderr: stderr})
	switch {
	case err == nil:
		return strings.TrimSpace(string(out.Bytes())), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return "", e.failed(err, string(stderr.Bytes()))
}

// Answers checks that the engine, and its daemon if it has one, works, and finds out how to call
// it. The warning is a known limitation of the engine; "" for none. The error is an *Error, or
// ctx's.
func (e *Engine) Answers(ctx context.Context, g sandbox.Grant) (warning string, err error) {
	said, err := e.version(ctx, g)
	if err == nil && isPodman(e.name, said) {
		if own, err := Find(Podman, e.options); err == nil {
			e.path = own.path
		}
		e.name = Podman
		said, err = e.version(ctx, g)
	}
	if err != nil {
		return "", err
	}
	warning = e.loses(said)
	e.proxies = e.name == Docker && hasProxies(e.options.Environ)
	e.first = e.initArgs(e.options.Environ, said)
	return warning, nil
}

// version returns the version of the engine.
func (e *Engine) version(ctx context.Context, g sandbox.Grant) (string, error) {
	slow := &Error{Engine: e.name, Kind: Unreachable, Msg: fmt.Sprintf("it does not answer within %s", askTimeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, slow)
	defer cancel()
	args := []string{"version"} // its output distinguishes docker from podman under the name docker
	switch e.name {
	case Podman:
		args = []string{"version", "--format", podmanVersion}
	case Nerdctl:
		args = []string{"info", "--format", "{{.ServerVersion}}"}
	}
	said, err := e.ask(ctx, g, args...)
	var failed *Error
	if errors.As(err, &failed) {
		return "", &lookedError{failed}
	}
	return said, err
}

// isPodman reports whether docker is podman, as on some distributions, by the first line of its
// output. Docker's own program may talk to a service of podman, which it names further below.
func isPodman(name, said string) bool {
	client, _, _ := strings.Cut(said, "\n")
	return name == Docker && strings.Contains(client, "Podman Engine")
}

// Load pulls an image by its verified digest, and returns a Runner of it. Nothing is started.
func (e *Engine) Load(ctx context.Context, a registry.Artifact, c image.Command, g sandbox.Grant) (fnexec.Runner, error) {
	r, err := e.fetch(ctx, a, c, g)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", a.Pinned().Display(), err)
	}
	return r, nil
}

func (e *Engine) fetch(ctx context.Context, a registry.Artifact, c image.Command, g sandbox.Grant) (*runner, error) {
	if a.From.Scheme != reference.SchemeOCI || a.Root.Digest == "" {
		return nil, fmt.Errorf("%s pulls from registries only", e.name)
	}
	what := call{image: a.From.Name + "@" + a.Root.Digest.String(), command: c}
	if _, err := e.runArgs(what, "", g); err != nil {
		return nil, err // a missing mount is reported before anything runs
	}
	w := wanted{what.image, a.Root.Digest}
	has, there, err := e.local(ctx, g, w)
	if err == nil && !there {
		has, err = e.pulled(ctx, g, a, w)
	}
	if err != nil {
		return nil, err
	}
	if reason := has.Elsewhere(); reason != "" {
		return nil, &image.UnfitError{Reason: reason}
	}
	if what.volumes, err = e.volumes(what.image, has.Volumes); err != nil {
		return nil, err
	}
	return &runner{engine: e, call: what, platform: has.Platform, grant: g}, nil
}

// pulled pulls an image and inspects it.
func (e *Engine) pulled(ctx context.Context, g sandbox.Grant, a registry.Artifact, w wanted) (inspected, error) {
	e.options.Notify(fmt.Sprintf("%s pulls %s", e.name, w.image))
	if _, err := e.ask(ctx, g, "pull", "-q", w.image); err != nil {
		return inspected{}, unfit(ctx, a, err)
	}
	has, err := e.inspect(ctx, g, w.image)
	if err == nil && !has.is(w.digest) {
		err = e.another(w, has)
	}
	return has, err
}

// unfit returns a better error for an image that an engine refuses because of its platform, which
// engines do not name.
func unfit(ctx context.Context, a registry.Artifact, err error) error {
	var failed *Error
	if !errors.As(err, &failed) || failed.Kind != Unfit {
		return err
	}
	platform, readErr := image.ReadPlatform(ctx, a)
	if reason := platform.Elsewhere(); readErr == nil && reason != "" {
		return &image.UnfitError{Reason: reason}
	}
	return err
}

// nobody is the default user of a function. It is a number, since an image decides what a name
// means, and could make it root.
const nobody = "65534:65534"

// userOf returns the user of a container. A uid without a gid would be in the group of root.
func userOf(g sandbox.Grant) string {
	user := g.ContainerUser()
	if user == "" {
		return nobody
	}
	if _, err := strconv.ParseUint(user, 10, 32); err == nil {
		return user + ":" + user
	}
	return user
}

// label is on every container that krmcat starts.
const label = "dev.krmcat.function"

// newName returns a unique name for a container, by which it can be stopped.
func newName() string { return "krmcat-" + strings.ToLower(rand.Text()) }

// call says what an engine is to run.
type call struct {
	image   string // by digest
	command image.Command
	volumes []string // that the image declares, if the engine would create them
}

// runArgs returns the arguments that run an image once, as kyaml does, with access to no more of
// this machine than was granted.
func (e *Engine) runArgs(what call, name string, g sandbox.Grant) ([]string, error) {
	user := userOf(g)
	mounts, err := g.Mounts()
	if err != nil {
		return nil, err
	}
	limits := g.Limits()
	args := append([]string{"run", "--rm"}, e.streamArgs()...)
	network := "none"
	if g.Describe().Network {
		network = "host"
	}
	pull := "missing" // in case that the image was removed after it was pulled
	if e.options.Pull == PullNever {
		pull = "never"
	}
	args = append(args,
		"--network", network, "--user", user, "--security-opt=no-new-privileges",
		"--cap-drop", "ALL", "--read-only",
		"--tmpfs", fmt.Sprintf("/tmp:rw,exec,nosuid,nodev,size=%d,mode=1777", limits.Temp)+e.tempOwner(user),
		"--shm-size", strconv.FormatInt(limits.Temp, 10),
		"--pids-limit", strconv.Itoa(limits.Processes), "--memory", strconv.FormatInt(limits.Memory, 10),
		"--pull", pull, "--name", name, "--label", label)
	args = append(append(args, e.first...), e.own(g)...)
	options, err := e.mountOptions(mounts, limits.Temp)
	if err != nil {
		return nil, err
	}
	args = append(args, options...)
	hidden, err := e.hideVolumes(what.volumes, mounts)
	if err != nil {
		return nil, err
	}
	args = append(args, hidden...)
	args = append(args, "-e", "LOG_TO_STDERR=true", "-e", "STRUCTURED_RESULTS=true")
	for _, e := range g.ContainerEnv() {
		args = append(args, "-e", e)
	}
	program, own := what.command.Program, what.command.Args
	if len(program) == 0 {
		return append(append(args, what.image), own...), nil
	}
	args = append(args, "--entrypoint", program[0], what.image)
	return append(append(args, program[1:]...), own...), nil
}

// tempOwner returns the options that give /tmp to the function's user. The mode alone does not do:
// some versions of runc use the mode of the image's /tmp.
func (e *Engine) tempOwner(user string) string {
	if e.name == Podman {
		return ",U"
	}
	options := ""
	id, group, _ := strings.Cut(user, ":")
	if _, err := strconv.ParseUint(id, 10, 32); err == nil {
		options += ",uid=" + id
	}
	if _, err := strconv.ParseUint(group, 10, 32); err == nil {
		options += ",gid=" + group
	}
	return options
}

// own returns the options that only this engine needs.
func (e *Engine) own(g sandbox.Grant) []string {
	switch e.name {
	case Docker:
		return append(e.withoutProxies(), "--no-healthcheck") // a health check would run beside the function
	case Nerdctl:
		return nil // it runs no health checks by itself
	}
	out := []string{
		"--no-healthcheck",
		"--read-only-tmpfs=false", "--image-volume", "ignore", "--http-proxy=false",
		// There is no daemon: nothing else stops the container if krmcat is killed.
		"--timeout", strconv.Itoa(int((g.Limits().Timeout + stopMargin) / time.Second)),
	}
	if keepsID(g.ContainerUser(), os.Geteuid()) {
		out = append(out, "--userns", "keep-id")
	}
	return out
}

// keepsID reports whether a container's user must be the user of this machine with the same number.
// Root need not: in a rootless container root is the user who runs krmcat.
func keepsID(user string, uid int) bool {
	id, _, _ := strings.Cut(user, ":")
	return id != "" && id != "0" && id != "root" && uid > 0
}

// stopMargin is added to the time limit that podman gets.
const stopMargin = 10 * time.Second

// stopArgs returns the arguments that kill a container.
func (e *Engine) stopArgs(name string) []string {
	args := []string{"rm", "-f", "-v"}
	if e.name == Podman {
		args = append(args, "-t", "0")
	}
	return append(args, name)
}

// started asks the engine whether a container ever ran: an exit code of 125 to 127 may be the
// engine's or the function's. known is false if the engine cannot tell.
func (e *Engine) started(ctx context.Context, g sandbox.Grant, name string) (started, known bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	args := []string{"events", "--since", "1h", "--filter", "container=" + name, "--filter", "event=start"}
	switch e.name {
	case Docker:
		// With nanoseconds: docker ignores the fraction of a second in other formats.
		now := time.Now()
		args = append(args, "--until", fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()), "--format", "{{.Action}}")
	case Podman:
		args = append(args, "--stream=false", "--format", "{{.Status}}")
	default:
		return false, false
	}
	out, err := e.ask(ctx, g, args...)
	return out != "", err == nil
}
