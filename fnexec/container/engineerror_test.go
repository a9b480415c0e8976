package container

import (
	"errors"
	"testing"
)

// TestCauses: what engines say is known for what it is.
func TestCauses(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]FailureKind{
		"Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?":                                                       Unreachable,
		"docker: permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock":                                            Unreachable,
		"Error response from daemon: pull access denied for x/y, repository does not exist or may require 'docker login'":                                         Unreachable,
		"Error response from daemon: Head \"https://r.example/v2/x/manifests/y\": unauthorized: authentication required":                                          Unreachable,
		"Error response from daemon: manifest for r.example/x@sha256:00 not found: manifest unknown: manifest unknown":                                            NoImage,
		"docker: Error response from daemon: No such image: r.example/x@sha256:00":                                                                                NoImage,
		"Error: r.example/x@sha256:00: image not known":                                                                                                           NoImage,
		"docker: Error response from daemon: unable to find user nosuch: no matching entries in passwd file.":                                                     NoUser,
		"docker: Error response from daemon: OCI runtime create failed: runc create failed: exec: \"/nope\": stat /nope: no such file or directory: unknown.":     NoProgram,
		"Error: crun: executable file `nope` not found in $PATH: No such file or directory: OCI runtime attempted to invoke a command that was not found":         NoProgram,
		"docker: Error response from daemon: runc create failed: unable to start container process: exec: \"nope\": executable file not found in $PATH: unknown.": NoProgram,
		"exec /bin/text: exec format error":                                        NoProgram,
		"docker: Error response from daemon: Minimum memory limit allowed is 6MB.": "",
		"": "",
	} {
		var failed *EngineError
		if err := (cli{name: Docker}).failed(errors.New("exit status 125"), said); !errors.As(err, &failed) || failed.Kind != want {
			t.Errorf("%s: got %+v, want %q", said, failed, want)
		}
	}
}
