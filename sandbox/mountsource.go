package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// MountError reports that a mount cannot be made.
type MountError struct {
	Mount Mount
	Err   error
}

// Error names the mount.
func (e *MountError) Error() string { return fmt.Sprintf("the mount %s: %v", e.Mount, e.Err) }

// Unwrap returns the cause.
func (e *MountError) Unwrap() error { return e.Err }

// Shown is a granted mount. The source of a bind mount is absolute and free of links.
type Shown struct {
	Mount
	Hidden []Hidden // paths below it that the function does not see
}

// Hidden is a file or directory below a mount that is replaced by an empty one.
type Hidden struct {
	Path string // below the mount, with slashes
	Dir  bool   // a directory; a file otherwise
}

// Mounts returns the granted mounts. Sources are resolved at each call, since the file system
// may have changed. The error is a *MountError.
func (g Grant) Mounts() ([]Shown, error) {
	if g.g == nil {
		return nil, nil
	}
	var out []Shown
	for _, m := range g.g.mounts {
		s := Shown{Mount: m}
		if m.kind() == bindMount {
			var err error
			if s.Src, s.Hidden, err = g.g.allow.source(m); err != nil {
				return nil, &MountError{m, err}
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// source resolves the source of a bind mount. A source that the function names must be inside
// the target and read-only, as kustomize has it, and secrets in it are hidden. A source that
// the user names must be inside the target, unless MountAnywhere. Links are followed first.
// The error is a *notPermittedError if a flag would permit the mount.
func (a Allow) source(m Mount) (real string, hidden []Hidden, err error) {
	target, real, err := a.resolve(m.Src)
	if err != nil {
		return "", nil, err
	}
	users := slices.ContainsFunc(a.Mounts, m.covered)
	rel, err := filepath.Rel(target, real)
	outside := a.Target == "" || err != nil || !filepath.IsLocal(rel)
	no := &notPermittedError{}
	if !users {
		no.flag = m.flag()
	}
	if (outside || filepath.IsAbs(m.Src)) && !a.MountAnywhere && (users || no.flag != "") {
		no.flag = strings.TrimSpace(no.flag + " --mount-anywhere")
	}
	switch {
	case outside && users && a.MountAnywhere:
		return real, nil, nil
	case outside:
		no.why = fmt.Sprintf("%s is not inside the target %s", real, target)
		return "", nil, no
	case users && filepath.IsAbs(m.Src) && !a.MountAnywhere:
		no.why = m.Src + " is an absolute path: write it relative to the target"
		return "", nil, no
	case users:
		return real, nil, nil
	case m.RW || !filepath.IsLocal(m.Src):
		return "", nil, no
	case a.On == nil:
		return real, nil, nil
	}
	secrets := slices.Concat(a.On.secrets(), repositories(target))
	for _, h := range secrets {
		if within(real, h) && within(h, target) {
			no.why = h + " is hidden from functions"
			return "", nil, no
		}
	}
	return real, hiddenIn(real, secrets), nil
}

// resolve makes the source of a bind mount absolute, and follows links in it and the target.
func (a Allow) resolve(src string) (target, real string, err error) {
	p := src
	if !filepath.IsAbs(p) {
		if a.Target == "" {
			return "", "", errors.New("there is no target that it could be relative to")
		}
		p = filepath.Join(a.Target, p)
	}
	if real, err = filepath.EvalSymlinks(p); errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("there is no %s", p)
	}
	if err == nil && a.Target != "" {
		target, err = filepath.EvalSymlinks(a.Target)
	}
	return target, real, err
}

// hiddenIn lists the secrets below a directory. It leaves out what is below another secret, and
// links: the file that a link names is hidden by its own path.
func hiddenIn(dir string, secrets []string) []Hidden {
	var out []Hidden
	for _, h := range secrets {
		rel, err := filepath.Rel(dir, h)
		info, gone := os.Lstat(h)
		switch {
		case err != nil || !within(h, dir) || gone != nil || info.Mode()&fs.ModeSymlink != 0:
		case slices.ContainsFunc(secrets, func(o string) bool { return o != h && within(o, dir) && within(h, o) }):
		default:
			out = append(out, Hidden{filepath.ToSlash(rel), info.IsDir()})
		}
	}
	return out
}

// MountableIn checks whether all granted mounts can be made in an image. root is the directory
// of the image's file system, whose links are followed. The error is a *MountError.
func (g Grant) MountableIn(root string) error {
	_, err := g.mountOps(root, g.Limits())
	return err
}

// mountOps returns the ops for the granted mounts in a file system with the given root.
func (g Grant) mountOps(root string, l Limits) ([]op, error) {
	mounts, err := g.Mounts()
	if err != nil {
		return nil, err
	}
	var out []op
	for _, m := range mounts {
		o, err := m.op(root, l)
		if err != nil {
			return nil, &MountError{m.Mount, err}
		}
		out = append(out, o)
		for _, h := range m.Hidden {
			over := op{kind: opEmpty, dst: path.Join(o.dst, h.Path)}
			if h.Dir {
				over.kind = opTmpfs
			}
			out = append(out, over)
		}
	}
	return out, nil
}

// op returns the op for a mount with a resolved source.
func (m Mount) op(root string, l Limits) (op, error) {
	dst := resolveIn(root, m.Dst)
	switch {
	case dst == "/" || reserved(dst):
		return op{}, fmt.Errorf("%s is %s there, where nothing can be mounted", m.Dst, dst)
	case m.kind() == bindMount:
		return op{kind: opBind, src: m.Src, dst: dst, write: m.RW}, nil
	case m.kind() == tmpfsMount:
		return op{kind: opTmpfs, dst: dst, write: true, size: l.Temp}, nil
	}
	return op{}, fmt.Errorf("a %s needs a container engine that has them: docker, podman or nerdctl", m.kind())
}

// inPlace checks whether all granted mounts can be shown at their own paths, as they are without
// namespaces. The error is a *MountError.
func (g Grant) inPlace() error {
	mounts, err := g.Mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.kind() == bindMount && (m.Dst != m.Src || len(m.Hidden) > 0) {
			return &MountError{m.Mount, errors.New("without namespaces src and dst must be the same path, with nothing hidden below")}
		}
	}
	return nil
}
