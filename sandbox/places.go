package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
)

// nobody is the uid and gid of a function by default.
const nobody = 65534

// system lists the directories of this machine that a confined program sees: those with
// programs and their settings, and none with the data of users and services.
func system() []string {
	return []string{
		"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/etc", "/opt", "/nix", "/gnu",
		"/var/lib/ca-certificates", "/run/current-system", // certificates of SUSE; all of NixOS
	}
}

// secretPlaces lists the environment variables that name files or directories with a user's
// secrets.
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

// findSecrets returns the paths that are hidden even inside what is shown, with links resolved:
// those of the user and those of all users.
func (h *Host) findSecrets() []string {
	hide := []string{"/home", "/root", "/run", "/tmp", "/var", "/srv", "/mnt", "/media", "/proc", "/sys", "/dev"}
	for _, name := range secretPlaces() {
		value, _ := lookup(h.options.Environ, name)
		places := []string{value}
		if name == "KUBECONFIG" { // a list
			places = filepath.SplitList(value)
		}
		for _, p := range places {
			if filepath.IsAbs(p) {
				hide = append(hide, p)
			}
		}
	}
	if home, ok := homeOf(os.Geteuid()); ok {
		hide = append(hide, home)
	}
	if keepsRoot(Landlocked) { // functions run as root then, and could read them
		hide = append(hide, closed("/etc")...)
	}
	var out []string
	for _, p := range hide {
		real, err := filepath.EvalSymlinks(p)
		if err == nil && real != "/" && !slices.Contains(out, real) {
			out = append(out, real)
		}
	}
	return out
}

// hostView returns what a confined program sees of this machine: the system directories, all
// read-only, a /tmp of its own, and the program, the target and the working directory. It
// changes the paths of the job to those that the program sees.
func (g Grant) hostView(j *job) ([]op, error) {
	a, temp := g.g.allow, g.Limits().Temp
	over, err := systemOps()
	if err != nil {
		return nil, err
	}
	over = append(over, op{kind: opProc, dst: "/proc"}, op{kind: opDev, dst: "/dev", size: temp}, op{kind: opDir, dst: "/sys"}, op{kind: opDir, dst: "/run"},
		op{kind: opTmpfs, dst: "/tmp", write: true, size: temp}, op{kind: opTmpfs, dst: "/var/tmp", write: true, size: temp})
	if g.g.request.Network {
		over = append(over, resolver()...)
	}
	target := a.Target
	places := []*string{&target, &j.dir, &j.path}
	if j.program != nil {
		over = append(over, op{kind: opFile, dst: j.path, size: j.program.size})
		places = places[:2]
	}
	for _, p := range places {
		if over, err = showAlso(p, over, a.On.secrets()); err != nil {
			return nil, err
		}
	}
	for _, p := range slices.Concat(a.On.secrets(), repositories(target, j.dir)) {
		info, err := os.Lstat(p)
		switch {
		case err != nil || !shown(p, over):
		case info.IsDir():
			over = append(over, op{kind: opTmpfs, dst: p})
		default:
			over = append(over, op{kind: opEmpty, dst: p})
		}
	}
	home, _ := lookup(a.Host, "HOME") // an empty one, for programs that check whether it exists
	if clean := filepath.Clean(home); filepath.IsAbs(home) && resolveIn("/", home) == clean && !within(clean, "/tmp") && !stands(clean, over) {
		over = append(over, op{kind: opDir, dst: clean})
	}
	mounts, err := g.mountOps("/", g.Limits())
	return append(over, mounts...), err
}

// stands reports whether the ops make something at a path.
func stands(path string, ops []op) bool {
	return shown(path, ops) || path == "/" || slices.ContainsFunc(ops, func(o op) bool { return within(o.dst, path) })
}

// systemOps returns the ops for the system directories.
func systemOps() ([]op, error) {
	var out []op
	for _, p := range system() {
		info, err := os.Lstat(p)
		switch {
		case err != nil:
		case info.Mode()&fs.ModeSymlink != 0:
			text, err := os.Readlink(p)
			if err != nil {
				return nil, err
			}
			out = append(out, op{kind: opSymlink, src: text, dst: p})
		case info.IsDir():
			out = append(out, op{kind: opBind, src: p, dst: p})
		}
	}
	return out, nil
}

// repositories returns the git directories of dirs. Their config may hold tokens.
func repositories(dirs ...string) []string {
	var out []string
	for _, d := range dirs {
		real, err := filepath.EvalSymlinks(d)
		if err != nil {
			continue
		}
		git := filepath.Join(real, ".git")
		out = append(out, git)
		if to, err := filepath.EvalSymlinks(git); err == nil && to != git && to != real && within(to, real) {
			out = append(out, to) // .git is a link, and its target is visible by its own path
		}
	}
	return out
}

// showAlso adds an op for the path p. If p is a secret itself, it is shown empty: a target that
// is the user's home does not reveal it. If p leads through a secret path, it is replaced by
// its real path: by a second path it would reveal the secrets below it.
func showAlso(p *string, ops []op, hidden []string) ([]op, error) {
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
	switch {
	case shown(real, ops), real == "/", slices.ContainsFunc(ops, func(o op) bool { return o.dst == real }):
		return ops, nil
	case slices.Contains(hidden, real): // it is there, and empty
		return append(ops, op{kind: opTmpfs, dst: real}), nil
	}
	return append(ops, op{kind: opBind, src: real, dst: real}), nil
}

// shown reports whether a path of this machine is visible at the same path: whether the nearest
// op above it, or at it, shows it.
func shown(path string, ops []op) bool {
	nearest := op{kind: opDir}
	for _, o := range ops {
		if within(path, o.dst) && len(o.dst) >= len(nearest.dst) {
			nearest = o
		}
	}
	if nearest.kind != opSymlink || nearest.dst == path {
		return nearest.kind == opBind || nearest.kind == opSymlink
	}
	dir, err := filepath.EvalSymlinks(nearest.dst)
	return err == nil && shown(dir+path[len(nearest.dst):], slices.DeleteFunc(slices.Clone(ops), func(o op) bool { return o.dst == nearest.dst }))
}

// resolver shows the file by which names are resolved, if /etc has only a link to it.
func resolver() []op {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !within(real, "/run") {
		return nil
	}
	return []op{{kind: opBind, src: real, dst: real}}
}

// programUser returns the user of a confined program of this machine: the user who runs krmcat,
// or nobody in place of root.
func (g Grant) programUser() (uid, gid int) {
	if uid := os.Geteuid(); uid != 0 || g.g.allow.AsCurrentUser {
		return uid, os.Getegid()
	}
	return nobody, nobody
}

// imageUser returns the user of a function in an image, by --user. Names are looked up in the
// image's /etc/passwd and /etc/group.
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

// maxUsers bounds what is read of an image's /etc/passwd, in bytes.
const maxUsers = 1 << 20

// id parses a number, or looks up a name in a file with lines of name:x:number:….
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
	return 0, &UserError{name, file}
}

func readSmall(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, most))
}

// resolveIn follows the links in a path as if root were "/". It returns an absolute path, which
// never leads out of root.
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
