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

// outlive ignores interrupts. The render decides when a Step ends.
func outlive() { signal.Ignore(os.Interrupt) }

// keepOpen fails: kustomize starts helm itself on this system.
func keepOpen(conn) error { return errRefused }

// dial connects to a socket.
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
