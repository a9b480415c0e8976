package sandbox

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
)

// Mount is a piece of the host's file system that a function sees.
type Mount struct {
	Type string `json:"type,omitempty"` // one of MountTypes; "" for bind
	Src  string `json:"src,omitempty"`  // on the host; relative to the target
	Dst  string `json:"dst,omitempty"`  // in the function
	RW   bool   `json:"rw,omitempty"`   // read-only unless set
}

// The types of mounts.
const (
	bindMount   = "bind"
	volumeMount = "volume"
	tmpfsMount  = "tmpfs"
)

// MountTypes returns the types of mounts, the default one first.
func MountTypes() []string { return []string{bindMount, volumeMount, tmpfsMount} }

// String describes the mount for people: "bind data at /data, read-only".
func (m Mount) String() string {
	mode := "read-only"
	if m.RW {
		mode = "read-write"
	}
	what := m.kind()
	if m.Src != "" {
		what += " " + m.Src
	}
	return fmt.Sprintf("%s at %s, %s", what, m.Dst, mode)
}

func (m Mount) kind() string {
	if m.Type == "" {
		return bindMount
	}
	return m.Type
}

// Check returns what is wrong with a mount on every machine and for every function. It looks
// at the text alone.
func (m Mount) Check() error {
	types := MountTypes()
	dst := path.Clean(m.Dst)
	switch kind := m.kind(); {
	case !slices.Contains(types, kind):
		return fmt.Errorf("type is %s, not %q", strings.Join(types[:2], ", ")+" or "+types[2], kind)
	case m.Dst == "":
		return errors.New("dst is missing")
	case !path.IsAbs(dst):
		return fmt.Errorf("dst is %q: it must be an absolute path in the function", m.Dst)
	case dst == "/":
		return errors.New("dst may not be /")
	case reserved(dst):
		return fmt.Errorf("dst is %q: nothing can be mounted over /proc, /sys and /dev", m.Dst)
	case strings.ContainsAny(m.Src+m.Dst, "\r\n\x00"):
		return errors.New("src and dst may contain no line break and no zero byte")
	case kind == bindMount && m.Src == "":
		return errors.New("src is missing")
	case kind == tmpfsMount && m.Src != "":
		return errors.New("a tmpfs is empty and has no src")
	case kind == volumeMount && strings.ContainsAny(m.Src, `/\`):
		return fmt.Errorf("src is %q: it must be the name of a volume", m.Src)
	}
	return nil
}

// reserved reports whether a path belongs to a file system of the kernel.
func reserved(dst string) bool {
	return within(dst, "/proc") || within(dst, "/sys") || within(dst, "/dev")
}

// covered reports whether u, a mount of the user's, permits m.
func (m Mount) covered(u Mount) bool {
	return u.kind() == m.kind() && filepath.Clean(u.Src) == filepath.Clean(m.Src) && (u.RW || !m.RW)
}

// flag returns the flag that permits a mount; "" if no flag can express it.
func (m Mount) flag() string {
	if strings.Contains(m.Src+m.Dst, ",") {
		return ""
	}
	f := "type=" + m.kind()
	if m.Src != "" {
		f += ",src=" + m.Src
	}
	f += ",dst=" + m.Dst
	if m.RW {
		f += ",rw=true"
	}
	return "--mount " + failure.ShellWord(f)
}

// mounts divides the mounts of a function into granted and refused ones. They are those that
// it names, and those of the user if it declares that it needs storage. A mount that can never
// be made is refused here, before anything runs.
func (a Allow) mounts(r Request) (granted []Mount, refused []Refusal) {
	asked := r.Mounts
	if r.StorageMount {
		if len(a.Mounts) == 0 {
			refused = append(refused, Refusal{Wants: "a storage mount", Flag: "--mount type=bind,src=DIR,dst=/DIR"})
		}
		asked = slices.Concat(a.Mounts, r.Mounts)
	}
	for _, m := range asked {
		err := a.permits(m, r)
		var no *notPermittedError
		switch {
		case err == nil:
			granted = append(granted, m)
		case errors.As(err, &no):
			refused = append(refused, Refusal{Wants: "the mount " + m.String(), Flag: no.flag, Why: no.why})
		default:
			refused = append(refused, Refusal{Wants: "the mount " + m.String(), Why: err.Error()})
		}
	}
	return granted, refused
}

// notPermittedError reports that the user has not permitted a mount.
type notPermittedError struct{ flag, why string }

func (e *notPermittedError) Error() string {
	if e.why != "" {
		return e.why
	}
	return "it is not permitted"
}

// permits reports whether a mount is permitted and, as far as that is known in advance, can
// be made. The error is a *notPermittedError if a flag would permit it.
func (a Allow) permits(m Mount, r Request) error {
	if err := m.Check(); err != nil {
		return err
	}
	users := slices.ContainsFunc(a.Mounts, m.covered)
	switch kind := m.kind(); {
	case kind == bindMount:
		src, _, err := a.source(m)
		if err != nil || !r.HostExec || !a.confines() {
			return err
		}
		m.Src = src
		_, err = m.op("/", Limits{})
		return err
	case kind == volumeMount && r.HostExec:
		return errors.New("volumes are for container functions")
	case kind == volumeMount && (!users || !a.Volumes):
		no := &notPermittedError{}
		if !users {
			no.flag = m.flag()
		}
		if !a.Volumes {
			no.why = "only docker, podman and nerdctl have volumes"
			no.flag = strings.TrimSpace(no.flag + " --runtime docker")
		}
		return no
	}
	return nil
}
