package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// nobody is the user and the group that a function is where nothing says otherwise.
const nobody = 65534

// notShown are the entries of this machine's root that a confined program does not see:
// the kernel's, what is put in their place, sockets of services, and homes.
func notShown(name string) bool {
	return slices.Contains([]string{"proc", "sys", "dev", "tmp", "run", "home", "root", "boot", "lost+found"}, name)
}

// secretPlaces names the variables that say where a user keeps what is not a function's to
// see, files or directories.
func secretPlaces() []string {
	return []string{
		"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "KUBECONFIG", "GNUPGHOME", "SSH_AUTH_SOCK", "NETRC",
		"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "AZURE_CONFIG_DIR", "AZURE_FEDERATED_TOKEN_FILE",
		"VAULT_TOKEN_FILE", "SOPS_AGE_KEY_FILE", "COSIGN_KEY", "GIT_ASKPASS", "CURL_HOME", "NPM_CONFIG_USERCONFIG",
		"KRMCAT_CACHE_DIR", "HELM_REGISTRY_CONFIG", "HELM_CONFIG_HOME",
	}
}

// findSecrets lists what is hidden of this machine, links resolved: the user's places, and
// those of everybody.
func (h *Host) findSecrets() []string {
	hide := []string{"/home", "/root", "/run", "/var/run", "/tmp", "/var/tmp", "/var/spool", "/var/mail"}
	for _, name := range secretPlaces() {
		value, _ := lookup(h.options.Environ, name)
		for _, p := range filepath.SplitList(value) {
			if filepath.IsAbs(p) && filepath.Clean(p) != "/" {
				hide = append(hide, p)
			}
		}
	}
	if home, ok := homeOf(os.Geteuid()); ok {
		hide = append(hide, home)
	}
	// Whose home is the root itself, as in many a pod, keeps such files there.
	dotted, _ := filepath.Glob("/.*")
	hide = append(hide, dotted...)
	var out []string
	for _, p := range hide {
		real, err := filepath.EvalSymlinks(p)
		if err == nil && real != "/" && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// homeOf looks a user's home up in the password file, for whom HOME says otherwise.
func homeOf(uid int) (string, bool) {
	data, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) > 5 && f[2] == strconv.Itoa(uid) && filepath.IsAbs(f[5]) {
			return f[5], true
		}
	}
	return "", false
}

// hostView is what stands in place of parts of this machine's file system, which a
// confined program sees read-only: nothing instead of secrets, a /tmp of its own; and the
// program, the target and the working directory, wherever they are. The job's paths become
// those under which they are seen.
func (g Grant) hostView(j *job) ([]op, error) {
	var over []op
	for _, p := range g.g.allow.On.secrets() {
		info, err := os.Stat(p)
		switch {
		case err != nil:
		case p == "/tmp" || p == "/var/tmp":
			over = append(over, op{kind: opTmpfs, dst: p, write: true, size: g.Limits().Temp})
		case info.IsDir():
			over = append(over, op{kind: opTmpfs, dst: p})
		default:
			over = append(over, op{kind: opEmpty, dst: p})
		}
	}
	over = append(over, op{kind: opProc, dst: "/proc"}, op{kind: opDev, dst: "/dev"}, op{kind: opTmpfs, dst: "/sys"})
	if g.g.request.Network {
		over = append(over, resolver()...)
	}
	target := g.g.allow.Target
	for _, p := range []*string{&target, &j.dir, &j.path} {
		var err error
		if over, err = shownAgain(p, over); err != nil {
			return nil, err
		}
	}
	mounts, err := g.mountOps("/", g.Limits())
	if err != nil {
		return nil, err
	}
	return append(over, mounts...), nil
}

// shownAgain adds a place that lies in what is hidden. One that is hidden itself, or
// holds what is, stays so: a target that is the user's home does not open it. A place that
// is named by way of what is hidden gets its real name: shown under two names, it would
// show by the other what is hidden inside of it by the one.
func shownAgain(p *string, ops []op) ([]op, error) {
	if *p == "" {
		return ops, nil
	}
	real, err := filepath.EvalSymlinks(*p)
	if err != nil {
		return nil, err
	}
	if !shown(filepath.Clean(*p), ops) {
		*p = real
	}
	if shown(real, ops) || slices.ContainsFunc(ops, func(o op) bool { return o.dst == real }) {
		return ops, nil
	}
	return append(ops, op{kind: opBind, src: real, dst: real}), nil
}

// shown tells whether a path of this machine is to be seen under its name: whether the op
// that stands nearest above it, if any does, shows what is there.
func shown(path string, ops []op) bool {
	nearest := op{kind: opBind}
	for _, o := range ops {
		if within(path, o.dst) && len(o.dst) >= len(nearest.dst) {
			nearest = o
		}
	}
	return nearest.kind == opBind
}

// resolver shows the files that say how names are found, where /etc only links to them.
func resolver() []op {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !within(real, "/run") {
		return nil
	}
	return []op{{kind: opBind, src: real, dst: real}}
}

// MountError says that something cannot be mounted.
type MountError struct {
	Mount Mount
	Err   error
}

func (e *MountError) Error() string { return fmt.Sprintf("the mount %s: %v", e.Mount, e.Err) }
func (e *MountError) Unwrap() error { return e.Err }

// Mounts returns what was granted, with the sources of binds made absolute and free of
// links. The error is a *MountError.
func (g Grant) Mounts() ([]Mount, error) {
	if g.g == nil {
		return nil, nil
	}
	var out []Mount
	for _, m := range g.g.mounts {
		if m.kind() == "bind" {
			src, err := g.g.allow.source(m)
			if err != nil {
				return nil, &MountError{m, err}
			}
			m.Src = src
		}
		out = append(out, m)
	}
	return out, nil
}

// source finds what a mount names: inside the target, links resolved, unless the user
// named it and allows any place. What a function names itself may not be a way to what is
// hidden from it.
func (a Allow) source(m Mount) (string, error) {
	p := m.Src
	if p == "" {
		return "", errors.New("it names no source")
	}
	if !filepath.IsAbs(p) {
		if a.Target == "" {
			return "", errors.New("there is no target that it could be relative to")
		}
		p = filepath.Join(a.Target, p)
	}
	real, err := filepath.EvalSymlinks(p)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %s", p)
	}
	users := slices.ContainsFunc(a.Mounts, m.covered)
	if err != nil || a.MountAnywhere && users {
		return real, err
	}
	target, err := filepath.EvalSymlinks(a.Target)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(target, real); err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not inside the target %s", real, target)
	}
	if users || a.On == nil {
		return real, nil
	}
	for _, h := range a.On.secrets() {
		if within(h, real) {
			return "", fmt.Errorf("%s is hidden from functions: give %s to show it", h, m.flag())
		}
	}
	return real, nil
}

// mountOps puts what was granted where it is wanted, in a file system whose root is root.
func (g Grant) mountOps(root string, l Limits) ([]op, error) {
	mounts, err := g.Mounts()
	if err != nil {
		return nil, err
	}
	var out []op
	for _, m := range mounts {
		dst := resolveIn(root, m.Dst)
		switch {
		case !filepath.IsAbs(m.Dst) || dst == "/":
			return nil, &MountError{m, fmt.Errorf("%q is no place to mount on: it has to be absolute, and below /", m.Dst)}
		case m.kind() == "bind":
			out = append(out, op{kind: opBind, src: m.Src, dst: dst, write: m.RW})
		case m.kind() == "tmpfs":
			out = append(out, op{kind: opTmpfs, dst: dst, write: true, size: l.Temp})
		default:
			return nil, &MountError{m, fmt.Errorf("a %s needs a container engine that has them: docker, podman or nerdctl", m.kind())}
		}
	}
	return out, nil
}

// programUser is who a program of this machine is when it is confined: the user, and for
// root, whose files are all there are, nobody.
func (g Grant) programUser() (uid, gid int) {
	if uid := os.Geteuid(); uid != 0 || g.g.allow.AsCurrentUser {
		return uid, os.Getegid()
	}
	return nobody, nobody
}

// imageUser is who a function in an image is, by the numbers of --user, or by its name in
// the image's own password file.
func (g Grant) imageUser(root string) (uid, gid int, err error) {
	if g.g.allow.AsCurrentUser {
		return os.Geteuid(), os.Getegid(), nil
	}
	user, group, both := strings.Cut(g.g.allow.User, ":")
	if user == "" {
		return nobody, nobody, nil
	}
	if uid, err = id(root, "/etc/passwd", user); err != nil {
		if user == "nobody" {
			return nobody, nobody, nil
		}
		return 0, 0, err
	}
	gid = uid
	if both {
		gid, err = id(root, "/etc/group", group)
	}
	return uid, gid, err
}

// maxUsers is how large a password file of an image may be, in bytes.
const maxUsers = 1 << 20

// id reads a number, or finds a name in a file of name:x:number:… of an image.
func id(root, file, name string) (int, error) {
	if n, err := strconv.ParseUint(name, 10, 31); err == nil {
		return int(n), nil
	}
	data, err := readSmall(filepath.Join(root, resolveIn(root, file)), maxUsers)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) > 2 && f[0] == name {
			if n, err := strconv.ParseUint(f[2], 10, 31); err == nil {
				return int(n), nil
			}
		}
	}
	return 0, fmt.Errorf("the image's %s has no %q: give its number", file, name)
}

func readSmall(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// resolveIn follows the links of a path as they are meant below root, and returns what it
// is there: absolute, and never outside.
func resolveIn(root, p string) string {
	joined, err := securejoin.SecureJoin(root, p)
	if err != nil {
		return filepath.Clean("/" + p)
	}
	rel, err := filepath.Rel(root, joined)
	if err != nil {
		return filepath.Clean("/" + p)
	}
	return filepath.Clean("/" + rel)
}
