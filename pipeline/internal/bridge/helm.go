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

// endsHelm tells whether helm is started by way of krmcat, which knows then whom to end.
func (o Build) endsHelm() bool { return o.Helm.Enabled && o.HelmPath != "" && groups }

// helmPath is what kustomize starts for helm.
func (b *bridge) helmPath() string { return filepath.Join(b.home, filepath.FromSlash(helm.Path)) }

// installHelm puts krmcat where kustomize is told that helm is.
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
		return fmt.Errorf("giving kustomize a way to helm: %w", err)
	}
	return nil
}

// runsHelm waits for a process group of helm's to end. It is killed where the bridge is closed
// before.
func (b *bridge) runsHelm(conn net.Conn, text string) error {
	group, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || group <= 1 {
		return fmt.Errorf("helm is in no process group: %q", text)
	}
	b.mu.Lock()
	closed := b.closed
	if !closed {
		b.helms[group] = struct{}{}
	}
	b.mu.Unlock()
	if closed {
		return nil
	}
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.helms, group)
	}()
	if _, err := io.WriteString(conn, helm.Answered); err != nil {
		return fmt.Errorf("answering helm: %w", err)
	}
	_, _ = io.Copy(io.Discard, conn) // until nobody of it is left
	return nil
}
