package bridge

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/krmcat/krmcat/internal/helm"
)

// endsHelm reports whether kustomize starts helm through krmcat, so that krmcat knows which process
// group to kill.
func (o Build) endsHelm() bool { return o.Helm.Enabled && o.HelmPath != "" && groups }

// helmPath returns the path of the program that kustomize starts as helm.
func (b *bridge) helmPath() string { return filepath.Join(b.home, filepath.FromSlash(helm.Path)) }

// installHelm creates the program that kustomize starts as helm: a link to krmcat.
func (b *bridge) installHelm(o Build) error {
	if !o.endsHelm() {
		return nil
	}
	at := b.helmPath()
	err := os.MkdirAll(filepath.Dir(at), 0o700)
	if err == nil {
		err = os.Symlink(o.Executable, at)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(b.home, helm.File), []byte(o.HelmPath+"\x00"+o.Helm.Command), 0o600)
	}
	if err != nil {
		return fmt.Errorf("installing helm for kustomize: %w", err)
	}
	return nil
}

// waitForHelm registers a process group of helm and waits for it to end. If the bridge is closed
// before that, the group is killed.
func (b *bridge) waitForHelm(conn net.Conn, text string) error {
	group, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || group <= 1 {
		return fmt.Errorf("%q is not a process group of helm", text)
	}
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.groups[group] = struct{}{}
	}
	b.mu.Unlock()
	if closed {
		return nil
	}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.groups, group)
	}()
	if _, err := io.WriteString(conn, helm.Answered); err != nil {
		return fmt.Errorf("answering helm: %w", err)
	}
	_, _ = io.Copy(io.Discard, conn) // until the last process of the group has ended
	return nil
}
