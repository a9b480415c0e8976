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

// ErrInterrupted is the cause with which the caller of Main cancels on a signal.
var ErrInterrupted = errors.New("interrupted")

// Leaver says when the process may be ended although Main has not.
type Leaver = leave.Leaver

// Process is everything that krmcat gets from its surroundings.
type Process struct {
	Args           []string // the program's name first
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Environ        []string // KEY=VALUE
	Dir            string   // working directory, absolute
	Executable     string   // krmcat itself, absolute: kustomize calls it back
	Terminal       bool     // Stderr is watched by a person
	Screen         bool     // Stdout is
	Official       string   // the catalog that this build trusts, "" for none
	Leave          *Leaver  // nil where nobody ends the process
	MachineDir     string   // of the policy of this machine, absolute; "" for none
	NoMachineDir   error    // why it is not known where that is; nil where it is
	// AccountHome is the user's directory as the system's list of users has it, "" for none: asked
	// where no variable says. Nil for never.
	AccountHome func() string
	// Judge starts what judges signatures, and makes them. Nil where nothing does.
	Judge cosign.Dial
}

// OS is this process as the operating system started it. What kustomize has to say goes to
// stderr by way of package log, with words of the files that it reads: it is made safe too.
func OS() Process {
	log.SetOutput(ui.CleanLog(os.Stderr))
	dir, err := os.Getwd()
	if err != nil {
		dir = "." // deleted under our feet: absolute paths still work
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

// accountHome is this user's directory, whatever the environment says.
func accountHome() string {
	u, err := user.Current()
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return u.HomeDir
}

// terminal tells a terminal from a file, a pipe and the null device.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// getenv looks a variable up, "" for none.
func (p Process) getenv(name string) string {
	value, _ := p.lookupenv(name)
	return value
}

// lookupenv tells an empty variable from none. The last one of a name wins.
func (p Process) lookupenv(name string) (string, bool) {
	for i := len(p.Environ) - 1; i >= 0; i-- {
		key, value, _ := strings.Cut(p.Environ[i], "=")
		if key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name) {
			return value, true
		}
	}
	return "", false
}

// home is the user's directory, "" where there is none.
func (p Process) home() string {
	if runtime.GOOS == "windows" {
		return p.getenv("USERPROFILE")
	}
	return p.getenv("HOME")
}

// cacheDir is where krmcat keeps blobs: $KRMCAT_CACHE_DIR, else krmcat below the system's
// place for caches, which is os.UserCacheDir's. "" where there is none: then nothing is kept.
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

// dockerConfig is the directory of Docker's config.json.
func (p Process) dockerConfig() string {
	if dir := p.getenv("DOCKER_CONFIG"); dir != "" {
		return p.abs(dir)
	}
	return under(p.home(), ".docker")
}

// authFiles are the places of podman's auth.json, in podman's order.
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

// abs makes a path of the environment or of a flag absolute.
func (p Process) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.Dir, path)
}

// under joins a slash path to a directory; "" stays "".
func under(dir, path string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, filepath.FromSlash(path))
}
