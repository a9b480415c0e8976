package engine

import (
	"errors"
	"testing"
)

// TestUnstarted checks that a program that did not start is distinguished from one that failed.
func TestUnstarted(t *testing.T) {
	t.Parallel()
	line := "exec /bin/x: exec format error"
	for said, want := range map[string]string{
		line + "\n": line,
		"WARNING: The requested image's platform (linux/arm64) does not match the detected host platform\n" + line: line,
		"exec /bin/x: no such file or directory": "exec /bin/x: no such file or directory",
		"a note\n" + line:                        "",
		"exec /bin/x: it said no":                "",
		"":                                       "",
	} {
		if got := unstarted(1, said); got != want || unstarted(3, said) != "" {
			t.Errorf("%q: got %q", said, got)
		}
	}
}

// TestKeepID checks that root in a rootless container needs no ids.
func TestKeepID(t *testing.T) {
	t.Parallel()
	for user, want := range map[string]bool{"0": false, "root": false, "0:0": false, "": false, "7:8": true, "me": true} {
		if got := keepsID(user, 54321); got != want || keepsID(user, 0) {
			t.Errorf("%q: got %v", user, got)
		}
	}
}

// TestCauses checks that messages of engines are recognised.
func TestCauses(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]FailureKind{
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":                                                       Unreachable,
		"docker: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock":                                            Unreachable,
		"Error response from daemon: pull access denied for x/y, repository does not exist or may require 'docker login'":                                         NoLogin,
		"Error response from daemon: Head \"https://r.example/v2/x/manifests/y\": unauthorized: authentication required":                                          NoLogin,
		"Error response from daemon: manifest for r.example/x@sha256:00 not found: manifest unknown: manifest unknown":                                            NoImage,
		"docker: Error response from daemon: No such image: r.example/x@sha256:00":                                                                                NoImage,
		"Error: r.example/x@sha256:00: image not known":                                                                                                           NoImage,
		"docker: Error response from daemon: unable to find user nosuch: no matching entries in passwd file.":                                                     NoUser,
		"docker: Error response from daemon: OCI runtime create failed: runc create failed: exec: \"/nope\": stat /nope: no such file or directory: unknown.":     NoProgram,
		"Error: crun: executable file `nope` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found":         NoProgram,
		"docker: Error response from daemon: runc create failed: unable to start container process: exec: \"nope\": executable file not found in $PATH: unknown.": NoProgram,
		"exec /bin/text: exec format error":                                                                                 NoProgram,
		"[FATAL tini (7)] exec nope failed: No such file or directory":                                                      NoProgram,
		"ERROR (catatonit:2): failed to exec pid1: No such file or directory":                                               NoProgram,
		"Error: container-init binary not found on the host: stat /usr/libexec/podman/catatonit: no such file or directory": NoInit,
		"docker: Error response from daemon: exec: \"docker-init\": executable file not found in $PATH.":                    NoInit,
		"time=\"2026-11-22T16:25:28Z\" level=fatal msg=\"exec: \\\"tini\\\": executable file not found in $PATH\"":          NoInit,
		"docker: Error response from daemon: Minimum memory limit allowed is 6MB.":                                          "",
		"": "",
		"Error response from daemon: Get \"https://r.example:5000/v2/\": http: server gave HTTP response to HTTPS client":                                                                                                                                                                              NoTLS,
		"Error: initializing source docker://127.0.0.1:5000/x: pinging container registry 127.0.0.1:5000: Get \"https://127.0.0.1:5000/v2/\": http: server gave HTTP response to HTTPS client":                                                                                                         NoTLS,
		"Error: OCI runtime error: runc: runc create failed: unable to start container process: error during container init: setup user: invalid argument":                                                                                                                                             NoIDs,
		"time=x level=error msg=\"cannot find UID/GID for user\"\nError: keep-id requires additional UIDs or GIDs defined in /etc/subuid and /etc/subgid to function correctly: %!w(<nil>)":                                                                                                            NoIDs,
		"Error: OCI runtime error: runc: runc create failed: unable to start container process: error during container init: error mounting \"tmpfs\" to rootfs at \"/tmp\": mount tmpfs:/tmp/a (via /proc/self/fd/6), flags: 0x6, data: size=1000000,mode=1777,uid=65534,gid=65534: invalid argument": NoIDs,
		"Error response from daemon: image operating system \"windows\" cannot be used on this platform":                                                                                                                                                                                               Unfit,
		"docker: Error response from daemon: No command specified": NoProgram,
	} {
		var failed *Error
		if err := (&Engine{name: Docker}).failed(errors.New("exit status 125"), said); !errors.As(err, &failed) || failed.Kind != want {
			t.Errorf("%s: got %+v, want %q", said, failed, want)
		}
	}
}

// TestIsPodman checks that docker counts as podman by its program, not by its service.
func TestIsPodman(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"Client:       Podman Engine\nVersion:      4.3.1":                                              true,
		"Client:\n Version:           28.2.2\n\nServer: linux/amd64\n Podman Engine:\n  Version: 4.3.1": false,
		"Client:\n Version:           28.2.2\n\nServer: Docker Engine - Community":                      false,
		"": false,
	} {
		if got := isPodman(Docker, said); got != want || isPodman(Podman, said) {
			t.Errorf("%q: got %v", said, got)
		}
	}
}
