package engine

// What the errors of this package mean to the user, for package failure.

import (
	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/install"
)

// Is implements the kind of the error for errors.Is.
func (e *Error) Is(kind error) bool { return kind == e.kind() }

// Details implements failure.Detailed.
func (e *Error) Details() failure.Details { return failure.Details{Try: e.try()} }

// kind is what the engine's failure means to the user.
func (e *Error) kind() failure.Kind {
	switch e.Kind {
	case Refused:
		return failure.Untrusted
	case NoImage, NoUser, NoProgram, Unfit, NoInit, NoIDs:
		return failure.NotFound
	case Unreachable, NoTLS, NoLogin:
	}
	return failure.Unreachable
}

// try is how the engine is set up on this machine, or done without.
func (e *Error) try() string {
	const native = ", or --runtime native"
	switch {
	case e.Kind == NoIDs:
		return "--user 0" + native
	case e.Kind == NoTLS && e.Engine == Podman:
		return "set insecure = true for the registry in /etc/containers/registries.conf" + native
	case e.Kind == NoTLS && e.Engine == Nerdctl:
		return "add a hosts.toml for the registry below /etc/containerd/certs.d" + native
	case e.Kind == NoTLS:
		return "add the registry to insecure-registries in /etc/docker/daemon.json" + native
	case e.Kind == NoLogin:
		return e.Engine + " login" + native
	case e.Kind == NoInit && e.Engine == Podman:
		return install.Command("catatonit")
	case e.Kind == NoInit && e.Engine == Nerdctl:
		return install.Command("tini")
	case e.Kind == NoInit:
		return "put docker-init into the PATH of dockerd"
	}
	return ""
}
