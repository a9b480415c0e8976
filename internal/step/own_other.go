//go:build !unix

package step

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
)

// outlive ignores interrupts: the render decides when to stop.
func outlive() { signal.Ignore(os.Interrupt) }

// keepOpen is of systems where a process becomes another: helm is kustomize's own here.
func keepOpen(conn) error { return errRefused }

// dial calls a socket.
func dial(path string) (conn, error) {
	c, err := (&net.Dialer{}).DialContext(context.Background(), "unix", filepath.FromSlash(path))
	if err != nil {
		return nil, err
	}
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("a socket was expected, this is a %T", c)
	}
	return socket, nil
}
