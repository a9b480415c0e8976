package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/registry"
)

// maxPassword limits the length of a password, in bytes.
const maxPassword = 64 << 10

const passwordStdinName = "password-stdin"

// loginCall has the values of the flags of login.
type loginCall struct {
	registry registry.Options
	username string
	stdin    bool
}

func (e *env) loginCommand() *cli.Command {
	l := &loginCall{}
	return &cli.Command{
		Name: "login", Args: true, ArgsUsage: "HOST",
		Usage: "log in to a registry",
		Description: `Checks the username and password with the registry at HOST, and keeps them where docker does: with the
credential helper that $DOCKER_CONFIG/config.json (or ~/.docker/config.json) names for HOST, else in
that file, where they are not encrypted. docker, cosign and oras use the same login.`,
		Flags: slices.Concat(grouped(groupInput,
			&cli.StringFlag{Name: "username", Aliases: []string{"u"}, Usage: "`NAME` of the user (default: from a prompt)", Destination: &l.username},
			&cli.BoolFlag{Name: passwordStdinName, Usage: "read the password from stdin (default: from a prompt)", Destination: &l.stdin},
		), connectionFlags(&l.registry)),
		Action: func(c *cli.Context) error { return e.login(c, l) },
	}
}

func (e *env) login(c *cli.Context, l *loginCall) error {
	host, err := oneArg(c, "host")
	if err != nil {
		return err
	}
	client, err := e.client(l.registry)
	if err != nil {
		return err
	}
	who, err := e.credentials(c, l)
	if err != nil {
		return err
	}
	plain, err := client.Login(c.Context, host, who)
	if err != nil {
		return loginError(c, err)
	}
	if plain {
		e.warn("the password is not encrypted in " + e.dockerConfig() + ": a credential helper of docker avoids that")
	}
	e.note("logged in to %s", host)
	return nil
}

// credentials returns the user and the password. The password is never an argument, because every
// user of a machine can read the arguments of processes.
func (e *env) credentials(c *cli.Context, l *loginCall) (registry.Credentials, error) {
	who := registry.Credentials{Username: l.username}
	in, person := e.Stdin.(*os.File)
	person = person && terminal(in)
	switch {
	case who.Username == "" && (l.stdin || !person):
		return who, usage(c, "--username is missing")
	case !l.stdin && !person:
		return who, usage(c, "stdin is not a terminal: use --password-stdin")
	}
	if who.Username == "" {
		e.shown.Done()
		_, _ = fmt.Fprint(e.errs, "Username: ")
		line, err := readLine(c.Context, in)
		who.Username = strings.TrimSpace(line)
		if err != nil || who.Username == "" {
			return who, untyped(c, "username", err)
		}
	}
	if strings.Contains(who.Username, ":") { // basic authentication ends the name there
		return who, usage(c, "a username has no colon")
	}
	if l.stdin {
		data, err := readUpTo(e.Stdin, "-", maxPassword)
		who.Password = strings.TrimRight(string(data), "\r\n")
		if err == nil && who.Password == "" {
			err = usage(c, "the password on stdin is empty")
		}
		return who, err
	}
	_, _ = fmt.Fprint(e.errs, "Password: ")
	password, err := readPassword(c.Context, in)
	_, _ = fmt.Fprintln(e.errs)
	if who.Password = string(password); err != nil || who.Password == "" {
		return who, untyped(c, "password", err)
	}
	return who, nil
}

// untyped says why nothing was typed: the line is empty, or err.
func untyped(c *cli.Context, what string, err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return usage(c, "the %s is empty", what)
	}
	return err
}

// loginError reports a mistake in the command line of login.
func loginError(c *cli.Context, err error) error {
	var host *registry.HostError
	var refused *registry.UnreachableError
	switch {
	case errors.As(err, &host):
		return usage(c, "%v", err)
	case errors.Is(err, registry.ErrNoLoginFile):
		return usage(c, "%v: set DOCKER_CONFIG or HOME", err)
	case errors.As(err, &refused) && (refused.Status == 401 || refused.Status == 403):
		return &loginRefusedError{err}
	}
	return err
}

// loginRefusedError reports that a registry does not accept a username and password.
type loginRefusedError struct{ error }

// Unwrap returns the cause.
func (e *loginRefusedError) Unwrap() error { return e.error }

// Details implements failure.Detailed.
func (*loginRefusedError) Details() failure.Details {
	return failure.Details{Try: "another username or password; many registries take an access token in place of the password"}
}

func (e *env) logoutCommand() *cli.Command {
	return &cli.Command{
		Name: "logout", Args: true, ArgsUsage: "HOST",
		Usage:       "forget the login for a registry",
		Description: "Removes the login for HOST from docker's config.json, or from the credential helper that it names.",
		Action: func(c *cli.Context) error {
			host, err := oneArg(c, "host")
			if err != nil {
				return err
			}
			client, err := e.client(registry.Options{})
			if err != nil {
				return err
			}
			was, left, err := client.Logout(c.Context, host)
			switch {
			case err != nil:
				return loginError(c, err)
			case was:
				e.note("logged out of %s", host)
			default:
				e.note("there was no login for %s in %s", host, e.dockerConfig())
			}
			for _, l := range left {
				if l.Err != nil {
					e.warn("there may still be a login for " + host + ", which would be used: " + l.Err.Error())
					continue
				}
				e.warn(l.Path + " still has a login for " + host + ", which is used: podman logout " + failure.ShellWord(host) + " removes it")
			}
			return nil
		},
	}
}
