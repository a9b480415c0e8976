package cli

import (
	"errors"
	"io"
	"log"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/internal/leave"
	"github.com/krmcat/krmcat/verify/cosign"
)

// ErrInterrupted is the cause of a context that the caller of Main cancels on a signal.
var ErrInterrupted = errors.New("interrupted")

// Leaver is told when the process may be ended before Main returns.
type Leaver = leave.Leaver

// Process is what krmcat gets from the operating system and from its builder.
type Process struct {
	Args           []string // the program's name first
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // KEY=VALUE
	Dir            string   // working directory, absolute
	Executable     string   // the absolute path of krmcat, which kustomize starts as helm
	Terminal       bool     // Stderr is a terminal
	Screen         bool     // Stdout is a terminal
	Official       string   // the catalog that this build trusts; "" for none
	Leave          *Leaver  // may be nil
	MachineDir     string   // the absolute directory of the machine's policy; "" for none
	NoMachineDir   error    // why MachineDir is not known, or nil
	// AccountHome returns the home directory in the system's list of users, "" for none. It is used
	// if no variable is set. May be nil.
	AccountHome func() string
	// Judge starts the process that judges and makes signatures; nil if there is none.
	Judge cosign.Dial
}

// OS returns this process as the operating system started it. Messages of kustomize go to stderr
// through package log. They contain text of the files that it reads, so they are made safe too.
func OS() Process {
	log.SetOutput(ui.CleanLog(os.Stderr))
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // it was deleted; absolute paths still work
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	machine, unknown := machineDir()
	return Process{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Environ: os.Environ(), Dir: dir, Executable: self, Terminal: terminal(os.Stderr), Screen: terminal(os.Stdout),
		MachineDir: machine, NoMachineDir: unknown, AccountHome: accountHome,
	}
}

// accountHome returns the home directory of this user, without the environment.
func accountHome() string {
	u, err := user.Current()
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return u.HomeDir
}

// terminal reports whether a file is a terminal.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// getenv returns a variable, "" for none.
func (p Process) getenv(name string) string {
	value, _ := p.lookupenv(name)
	return value
}

// lookupenv returns a variable, and whether it is set. The last one of a name applies.
func (p Process) lookupenv(name string) (string, bool) {
	for i := len(p.Environ) - 1; i >= 0; i-- {
		key, value, _ := strings.Cut(p.Environ[i], "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return value, true
		}
	}
	return "", false
}

// home returns the home directory of the user, "" for none.
func (p Process) home() string {
	if runtime.GOOS == "windows" {
		return p.getenv("USERPROFILE")
	}
	return p.getenv("HOME")
}

// cacheDir returns the directory of the cache: $KRMCAT_CACHE_DIR, or krmcat in the system's
// directory for caches, as os.UserCacheDir has it. "" means that nothing is cached.
func (p Process) cacheDir() string {
	if dir := p.getenv("KRMCAT_CACHE_DIR"); dir != "" {
		return p.abs(dir)
	}
	var base string
	switch runtime.GOOS {
	case "windows":
		base = p.getenv("LocalAppData")
	case "darwin":
		base = under(p.home(), "Library/Caches")
	default:
		if base = p.getenv("XDG_CACHE_HOME"); !filepath.IsAbs(base) {
			base = under(p.home(), ".cache")
		}
	}
	return under(base, "krmcat")
}

// dockerConfig returns the directory of docker's config.json.
func (p Process) dockerConfig() string {
	if dir := p.getenv("DOCKER_CONFIG"); dir != "" {
		return p.abs(dir)
	}
	return under(p.home(), ".docker")
}

// authFiles returns the paths of podman's auth.json, in podman's order.
func (p Process) authFiles() []string {
	if file := p.getenv("REGISTRY_AUTH_FILE"); file != "" {
		return []string{p.abs(file)}
	}
	var files []string
	for _, f := range []string{
		under(p.getenv("XDG_RUNTIME_DIR"), "containers/auth.json"),
		under(p.configDir(), "containers/auth.json"),
	} {
		if f != "" {
			files = append(files, f)
		}
	}
	return files
}

func (p Process) configDir() string {
	if dir := p.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return under(p.home(), ".config")
}

// abs makes a path absolute.
func (p Process) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

// under joins a directory and a slash path; "" for no directory.
func under(dir, path string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}
