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

// The engines.
const (
	Docker  = "docker"
	Podman  = "podman"
	Nerdctl = "nerdctl"
)

// PullPolicy says when an engine fetches an image.
type PullPolicy string

// The policies. Images are named by digest: what is there is never out of date.
const (
	PullAlways       PullPolicy = "Always"
	PullIfNotPresent PullPolicy = "IfNotPresent"
	PullNever        PullPolicy = "Never"
)

// Options say how engines are called.
type Options struct {
	Pull PullPolicy
	// Environ is this process's environment, as KEY=VALUE: engines are looked up in its PATH.
	Environ []string
	// Notify is told what is pulled, and what may still run.
	Notify func(string)
	// Warn is told what may go wrong without a word.
	Warn func(string)
}

// Engine is the program of an engine that was found.
type Engine struct {
	options Options
	name    string // Docker, Podman or Nerdctl
	asked   string // the name by which it was found
	path    string

	proxies bool     // it would hand some on
	passes  bool     // a container can have its very streams
	first   []string // the options for a first process above the function
}

// ErrNotInPath says that an engine is not installed.
var ErrNotInPath = errors.New("it is not in PATH")

// Find looks an engine up. It starts nothing. The error is ErrNotInPath.
func Find(name string, o Options) (*Engine, error) {
	path, err := sandbox.FindProgram(name, o.Environ)
	if err != nil {
		return nil, ErrNotInPath
	}
	return &Engine{options: o, name: name, asked: name, path: path}, nil
}

// String is the engine's name, for people.
func (e *Engine) String() string {
	if e.name != e.asked {
		return e.asked + ", which is " + e.name
	}
	return e.name
}

// askTimeout bounds the questions that an engine answers from what it has.
const askTimeout = 10 * time.Second

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 10

// ask has the engine do something and returns what it said. The error is an *Error,
// or ctx's.
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

// Answers asks the engine, and its daemon where it has one, whether it works, and finds out how it
// is to be called. The warning says what may get lost with it, "" for nothing. The error is an
// *Error, or ctx's.
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

// version asks the engine which it is.
func (e *Engine) version(ctx context.Context, g sandbox.Grant) (string, error) {
	slow := &Error{Engine: e.name, Kind: Unreachable, Msg: fmt.Sprintf("it does not answer within %s", askTimeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, slow)
	defer cancel()
	args := []string{"version"} // whose words tell docker from a podman that goes by its name
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

// isPodman recognises a docker that is podman, as distributions have it, by the first line
// of its answer. Docker's own program may talk to podman's service, and names that further
// down.
func isPodman(name, said string) bool {
	client, _, _ := strings.Cut(said, "\n")
	return name == Docker && strings.Contains(client, "Podman Engine")
}

// Load has the engine pull an image, by the digest that was verified. Nothing was started.
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
		return nil, err // a mount that is not there is missed before anything runs
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

// pulled has the engine pull an image, and looks at what it has then.
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

// unfit explains an image that an engine does not take because of its system: which it is,
// engines do not say.
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

// nobody is who runs a function unless the user says otherwise. By number: what the name
// means is in the image's hands, and could be root.
const nobody = "65534:65534"

// userOf is the user of a container. A number alone would be in the group of root.
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

// label marks every container of ours.
const label = "dev.krmcat.function"

// newName gives a container a name by which it is found again.
func newName() string { return "krmcat-" + strings.ToLower(rand.Text()) }

// call is what an engine is to run.
type call struct {
	image   string // by digest
	command image.Command
	volumes []string // that the image declares, as far as an engine would make them
}

// runArgs are the arguments that run an image once, as kyaml does it, and with no more of the
// machine than was granted.
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
	pull := "missing" // it was pulled before: this is for one that was removed since
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

// tempOwner is the options that make /tmp the function's own. Its mode is not enough: some
// versions of runc give it the mode of the image's /tmp.
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

// own are the options of one engine that close what the others leave closed.
func (e *Engine) own(g sandbox.Grant) []string {
	switch e.name {
	case Docker:
		return append(e.withoutProxies(), "--no-healthcheck") // which would run beside the function
	case Nerdctl:
		return nil // which has no health checks of its own accord
	}
	out := []string{
		"--no-healthcheck",
		"--read-only-tmpfs=false", "--image-volume", "ignore", "--http-proxy=false",
		// Without a daemon nobody else ends what runs when we are killed.
		"--timeout", strconv.Itoa(int((g.Limits().Timeout + stopMargin) / time.Second)),
	}
	if keepsID(g.ContainerUser(), os.Geteuid()) {
		out = append(out, "--userns", "keep-id")
	}
	return out
}

// keepsID reports whether a container's user has to be the one of this machine with that
// number: not for root, who is this user in a rootless container anyway.
func keepsID(user string, uid int) bool {
	id, _, _ := strings.Cut(user, ":")
	return id != "" && id != "0" && id != "root" && uid > 0
}

// stopMargin is how much longer than it may a container is left to podman.
const stopMargin = 10 * time.Second

// stopArgs is the call that ends a container whatever it does.
func (e *Engine) stopArgs(name string) []string {
	args := []string{"rm", "-f", "-v"}
	if e.name == Podman {
		args = append(args, "-t", "0")
	}
	return append(args, name)
}

// started asks the engine whether a container ever ran: an exit code between 125 and 127
// may be the engine's own and the function's. known is false where it cannot tell.
func (e *Engine) started(ctx context.Context, g sandbox.Grant, name string) (started, known bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	args := []string{"events", "--since", "1h", "--filter", "container=" + name, "--filter", "event=start"}
	switch e.name {
	case Docker:
		// To the moment: of what is said in words, docker drops the fraction of a second.
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
