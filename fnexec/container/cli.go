package container

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
	"github.com/krmcat/krmcat/registry"
	"github.com/krmcat/krmcat/sandbox"
)

// cli runs images through the program of an engine.
type cli struct {
	name   string // Docker, Podman or Nerdctl
	path   string
	pull   PullPolicy
	notify func(string)
	warn   func(string)

	proxies bool     // it would hand some on
	passes  bool     // a container can have its very streams
	first   []string // the options for a first process above the function
}

// askTimeout bounds the questions that an engine answers from what it has.
const askTimeout = 10 * time.Second

// maxAnswer is how much of an answer is read.
const maxAnswer = 64 << 10

// ask has the engine do something and returns what it said. The error is an *EngineError,
// or ctx's.
func (c cli) ask(ctx context.Context, g sandbox.Grant, args ...string) (string, error) {
	out, notes := &capped{max: maxAnswer}, &capped{max: maxAnswer}
	err := g.Engine(ctx, sandbox.EngineCmd{Path: c.path, Args: args}, sandbox.Streams{Out: out, Notes: notes})
	switch {
	case err == nil:
		return strings.TrimSpace(out.String()), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	}
	return "", c.failed(err, notes.String())
}

// answers tells whether the engine is there, its daemon too where it has one, and which it
// says that it is.
func (c cli) answers(ctx context.Context, g sandbox.Grant) (string, error) {
	slow := &EngineError{Engine: c.name, Kind: Unreachable, Msg: fmt.Sprintf("it does not answer within %s", askTimeout)}
	ctx, cancel := context.WithTimeoutCause(ctx, askTimeout, slow)
	defer cancel()
	args := []string{"version"} // whose words tell docker from a podman that goes by its name
	switch c.name {
	case Podman:
		args = []string{"version", "--format", podmanVersion}
	case Nerdctl:
		args = []string{"info", "--format", "{{.ServerVersion}}"}
	}
	said, err := c.ask(ctx, g, args...)
	var failed *EngineError
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

// load implements engine: it has the engine pull the image, by the digest that was verified.
func (c cli) load(ctx context.Context, a registry.Artifact, s spec, g sandbox.Grant) (fnexec.Runner, error) {
	r, err := c.fetch(ctx, a, s, g)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", a.Pinned().Display(), err)
	}
	return r, nil
}

func (c cli) fetch(ctx context.Context, a registry.Artifact, s spec, g sandbox.Grant) (*cliRunner, error) {
	if a.From.Scheme != registry.SchemeOCI || a.Root.Digest == "" {
		return nil, fmt.Errorf("%s pulls from registries only", c.name)
	}
	image := a.From.Name + "@" + a.Root.Digest.String()
	if _, err := c.runArgs(image, "", s, g); err != nil {
		return nil, err // a mount that is not there is missed before anything runs
	}
	w := wanted{image, a.Root.Digest}
	has, there, err := c.local(ctx, g, w)
	if err == nil && !there {
		has, err = c.pulled(ctx, g, a, w)
	}
	if err != nil {
		return nil, err
	}
	if reason := has.elsewhere(); reason != "" {
		return nil, &UnfitError{Reason: reason}
	}
	if s.volumes, err = c.volumes(image, has.Volumes); err != nil {
		return nil, err
	}
	return &cliRunner{cli: c, image: image, platform: has.imagePlatform, spec: s, grant: g}, nil
}

// pulled has the engine pull an image, and looks at what it has then.
func (c cli) pulled(ctx context.Context, g sandbox.Grant, a registry.Artifact, w wanted) (inspected, error) {
	c.notify(fmt.Sprintf("%s pulls %s", c.name, w.image))
	if _, err := c.ask(ctx, g, "pull", "-q", w.image); err != nil {
		return inspected{}, unfit(ctx, a, err)
	}
	has, err := c.inspect(ctx, g, w.image)
	if err == nil && !has.is(w.digest) {
		err = c.another(w, has)
	}
	return has, err
}

// unfit explains an image that an engine does not take because of its system: which it is,
// engines do not say.
func unfit(ctx context.Context, a registry.Artifact, err error) error {
	var failed *EngineError
	if !errors.As(err, &failed) || failed.Kind != Unfit {
		return err
	}
	raw, readErr := a.Read(ctx, a.Config)
	if readErr != nil {
		return err
	}
	config, readErr := decodeImageConfig(raw, len(a.Files))
	if reason := config.Platform.elsewhere(); readErr == nil && reason != "" {
		return &UnfitError{Reason: reason}
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

// runArgs is the call that runs an image once, as kyaml does it, and with no more of the
// machine than was granted.
func (c cli) runArgs(image, name string, s spec, g sandbox.Grant) ([]string, error) {
	user := userOf(g)
	mounts, err := g.Mounts()
	if err != nil {
		return nil, err
	}
	limits := g.Limits()
	args := append([]string{"run", "--rm"}, c.streamArgs()...)
	network := "none"
	if g.Describe().Network {
		network = "host"
	}
	pull := "missing" // it was pulled before: this is for one that was removed since
	if c.pull == PullNever {
		pull = "never"
	}
	args = append(args,
		"--network", network, "--user", user, "--security-opt=no-new-privileges",
		"--cap-drop", "ALL", "--read-only",
		"--tmpfs", fmt.Sprintf("/tmp:rw,exec,nosuid,nodev,size=%d,mode=1777", limits.Temp)+c.tempOwner(user),
		"--shm-size", strconv.FormatInt(limits.Temp, 10),
		"--pids-limit", strconv.Itoa(limits.Processes), "--memory", strconv.FormatInt(limits.Memory, 10),
		"--pull", pull, "--name", name, "--label", label)
	args = append(append(args, c.first...), c.own(g)...)
	options, err := c.mountOptions(mounts, limits.Temp)
	if err != nil {
		return nil, err
	}
	args = append(args, options...)
	hidden, err := c.hideVolumes(s.volumes, mounts)
	if err != nil {
		return nil, err
	}
	args = append(args, hidden...)
	args = append(args, "-e", "LOG_TO_STDERR=true", "-e", "STRUCTURED_RESULTS=true")
	for _, e := range g.EngineEnv() {
		args = append(args, "-e", e)
	}
	if len(s.command) == 0 {
		return append(append(args, image), s.args...), nil
	}
	args = append(args, "--entrypoint", s.command[0], image)
	return append(append(args, s.command[1:]...), s.args...), nil
}

// tempOwner is the options that make /tmp the function's own. Its mode is not enough: some
// versions of runc give it the mode of the image's /tmp.
func (c cli) tempOwner(user string) string {
	if c.name == Podman {
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
func (c cli) own(g sandbox.Grant) []string {
	switch c.name {
	case Docker:
		return append(c.withoutProxies(), "--no-healthcheck") // which would run beside the function
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

// keepsID tells whether a container's user has to be the one of this machine with that
// number: not for root, who is this user in a rootless container anyway.
func keepsID(user string, uid int) bool {
	id, _, _ := strings.Cut(user, ":")
	return id != "" && id != "0" && id != "root" && uid > 0
}

// stopMargin is how much longer than it may a container is left to podman.
const stopMargin = 10 * time.Second

// stopArgs is the call that ends a container whatever it does.
func (c cli) stopArgs(name string) []string {
	args := []string{"rm", "-f", "-v"}
	if c.name == Podman {
		args = append(args, "-t", "0")
	}
	return append(args, name)
}

// started asks the engine whether a container ever ran: an exit code between 125 and 127
// may be the engine's own and the function's. known is false where it cannot tell.
func (c cli) started(ctx context.Context, g sandbox.Grant, name string) (started, known bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	args := []string{"events", "--since", "1h", "--filter", "container=" + name, "--filter", "event=start"}
	switch c.name {
	case Docker:
		// To the moment: of what is said in words, docker drops the fraction of a second.
		now := time.Now()
		args = append(args, "--until", fmt.Sprintf("%d.%09d", now.Unix(), now.Nanosecond()), "--format", "{{.Action}}")
	case Podman:
		args = append(args, "--stream=false", "--format", "{{.Status}}")
	default:
		return false, false
	}
	out, err := c.ask(ctx, g, args...)
	return out != "", err == nil
}
