package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/ownfile"
	"github.com/krmcat/krmcat/internal/spell"
	"github.com/krmcat/krmcat/registry"
)

// The files that are in force without a flag, in the directory of the user's config or of the
// machine's policy.
const (
	configDirectory = "krmcat"
	configFile      = "config.yaml"
	policyFile      = "policy.yaml"
)

// configDir is a directory whose files are in force without a flag. If one cannot be read, the
// command stops: it may deny what is used.
type configDir struct {
	dir   string        // absolute; "" for none
	users ownfile.Users // who may write there
	real  string        // dir without links; "" if it does not exist
	names []string      // of its files
}

// configDirError reports that a file that decides what is trusted cannot be read, or that others
// can write to it.
type configDirError struct {
	path string // the file or directory that is in force
	err  error
	try  string
}

func (e *configDirError) Error() string {
	var foreign *ownfile.ForeignError
	switch {
	case errors.As(e.err, &foreign) && foreign.Path == e.path:
		return foreign.Error() + ": who can write it decides what is trusted"
	case errors.As(e.err, &foreign):
		return e.path + ": " + foreign.Error() + ": who can write there decides what is trusted"
	}
	var large *registry.TooLargeError
	if errors.As(e.err, &large) {
		return large.Error() // it contains the path
	}
	return e.path + ": " + pathless(e.err)
}

// Is implements the kind of the error for errors.Is.
func (*configDirError) Is(kind error) bool { return kind == failure.Untrusted }

// Details implements failure.Detailed.
func (e *configDirError) Details() failure.Details { return failure.Details{Try: e.try} }

// Unwrap returns the cause.
func (e *configDirError) Unwrap() error { return e.err }

// pathless returns the message of an error without the path.
func pathless(err error) string {
	var kind *ownfile.KindError
	var dangling *ownfile.DanglingError
	switch {
	case errors.As(err, &kind):
		return "it is " + kind.Kind() + ", not a file"
	case errors.As(err, &dangling):
		return "the link " + dangling.Link + " leads to " + dangling.To + ", which is not there"
	}
	if cause, ok := err.(*fs.PathError); ok { //nolint:errorlint // os does not wrap it
		return cause.Err.Error()
	}
	return err.Error()
}

// placeError reports a variable that is not an absolute path, so that the user's config is not
// known.
type placeError struct{ variable, value string }

func (e *placeError) Error() string {
	return e.variable + " is " + e.value + ", which is not an absolute path: it is not known whether there is a policy"
}

// Is implements the kind of the error for errors.Is.
func (*placeError) Is(kind error) bool { return kind == failure.Usage }

// Details implements failure.Detailed.
func (e *placeError) Details() failure.Details {
	return failure.Details{Try: e.variable + "=DIR, an absolute path"}
}

// errNoConfig is the error of commands that write the config.
var errNoConfig = errors.New("there is no place for the config: neither XDG_CONFIG_HOME nor HOME is set")

// userBase returns the parent of the user's config directory, "" if it is not known. variable is
// the variable that names it, "" for the system's list of users.
func (p Process) userBase() (dir, variable string, err error) {
	home := "HOME"
	if runtime.GOOS == "windows" {
		home = "USERPROFILE"
	}
	for _, from := range []struct{ variable, below string }{{"XDG_CONFIG_HOME", ""}, {home, ".config"}} {
		value := p.getenv(from.variable)
		switch {
		case value == "":
		case !filepath.IsAbs(value):
			return "", "", &placeError{from.variable, value}
		default:
			return filepath.Join(value, from.below), from.variable, nil
		}
	}
	if p.AccountHome == nil {
		return "", "", nil
	}
	return under(p.AccountHome(), ".config"), "", nil
}

// userFiles returns the directory of the user's config. It is opened once.
func (e *env) userFiles() (*configDir, error) {
	if e.userDir != nil {
		return e.userDir, nil
	}
	base, variable, err := e.userBase()
	if err != nil {
		return nil, err
	}
	s := &configDir{dir: under(base, configDirectory), users: ownfile.Mine()}
	if err := s.open(); err != nil {
		return nil, err
	}
	switch {
	case s.dir == "":
		e.warn("neither XDG_CONFIG_HOME nor HOME is set: no config and no policy of the user's is in force")
	case s.real == "" && variable != "":
		// The directory is created by the first write, but the parent that a variable names should
		// exist.
		if _, err := os.Stat(e.getenv(variable)); errors.Is(err, fs.ErrNotExist) {
			e.warn(variable + " is " + e.getenv(variable) + ", which is not there: no config and no policy of the user's is in force")
		}
	}
	e.near(s)
	e.userDir = s
	return s, nil
}

// machineFiles returns the directory of the machine's policy. It belongs to root, also if another
// user runs krmcat. It is opened once.
func (e *env) machineFiles() (*configDir, error) {
	if e.machineDir != nil {
		return e.machineDir, nil
	}
	s := &configDir{dir: e.MachineDir, users: ownfile.Root()}
	switch {
	case e.NoMachineDir != nil:
		return nil, &configDirError{path: "the policy of this machine", err: fmt.Errorf("the system does not say where it is: %w", e.NoMachineDir)}
	case s.dir != "" && !filepath.IsAbs(s.dir):
		return nil, &configDirError{path: s.dir, err: errRelativeMachine}
	}
	if err := s.open(); err != nil {
		return nil, err
	}
	e.near(s)
	for _, name := range s.names {
		if name == configFile {
			e.warn(under(s.dir, name) + " is not read: for the machine there is only " + policyFile)
		}
	}
	e.machineDir = s
	return s, nil
}

// errRelativeMachine reports a wrong build: a relative path would depend on the working directory.
var errRelativeMachine = errors.New("this build reads the policy of the machine there, and that is not an absolute path: it would depend on the working directory")

// near warns of directories whose names differ only in case, which are the same directory on other
// systems.
func (e *env) near(s *configDir) {
	if s.dir == "" {
		return
	}
	entries, err := os.ReadDir(filepath.Dir(s.dir))
	if err != nil {
		return // without a listing there is no warning
	}
	own, _ := os.Stat(s.dir)
	for _, entry := range entries {
		path := under(filepath.Dir(s.dir), entry.Name())
		if entry.Name() == filepath.Base(s.dir) || !strings.EqualFold(entry.Name(), filepath.Base(s.dir)) {
			continue
		}
		if other, err := os.Stat(path); err != nil || !other.IsDir() || own != nil && os.SameFile(own, other) {
			continue
		}
		for _, name := range []string{policyFile, configFile} {
			if _, err := os.Stat(under(path, name)); err == nil {
				e.warn(under(path, name) + " is not read: only what is in " + s.dir + " is")
			}
		}
	}
}

// open resolves the directory and lists its files.
func (s *configDir) open() error {
	if s.dir == "" {
		return nil
	}
	real, err := s.users.Resolve(s.dir)
	if notThere(err) {
		return nil
	}
	if err != nil {
		return s.wrong(s.dir, err)
	}
	entries, err := os.ReadDir(real)
	if err != nil {
		return s.wrong(s.dir, err)
	}
	s.real = real
	for _, entry := range entries {
		if !entry.IsDir() {
			s.names = append(s.names, entry.Name())
		}
	}
	return nil
}

// notThere reports whether nothing is at a path. A link to nothing is something.
func notThere(err error) bool {
	var dangling *ownfile.DanglingError
	return errors.Is(err, fs.ErrNotExist) && !errors.As(err, &dangling)
}

func (s *configDir) wrong(path string, err error) error {
	e := &configDirError{path: path, err: err}
	var foreign *ownfile.ForeignError
	var dangling *ownfile.DanglingError
	switch {
	case errors.As(err, &dangling):
		e.try = "rm " + failure.ShellWord(dangling.Link) + ", if it is not needed"
	case errors.As(err, &foreign) && foreign.Owner < 0:
		e.try = "chmod go-w " + failure.ShellWord(foreign.Path)
	case errors.As(err, &foreign):
		e.try = fmt.Sprintf("chown -h %d %s", foreign.Want[0], failure.ShellWord(foreign.Path))
	}
	return e
}

// read reads one of the files, nil if it does not exist. path is its path.
func (e *env) read(s *configDir, name string, limit int64) (data []byte, path string, err error) {
	path = under(s.dir, name)
	if s.real == "" {
		return nil, path, nil
	}
	f, err := s.users.Open(path)
	if notThere(err) {
		for _, other := range s.suffixed(name) {
			e.warn(under(s.dir, other) + " is not read: in this directory only " + name + " is")
		}
		return nil, path, s.meant(name)
	}
	if err != nil {
		return nil, path, s.wrong(path, err)
	}
	defer func() { _ = f.Close() }() // it was only read
	for _, other := range s.likeness(name) {
		if !sameFile(filepath.Join(s.real, other), f) { // they are the same file if case does not matter
			e.warn(under(s.dir, other) + " is not read: " + name + " beside it is")
		}
	}
	data, err = readUpTo(f, path, limit)
	if err != nil {
		return nil, path, s.wrong(path, err)
	}
	return data, path, nil
}

// named reads a file that a policy names.
func (s *configDir) named(path string, limit int64) ([]byte, error) {
	f, err := s.users.Open(path)
	if notThere(err) {
		return nil, &notThereError{path: path, err: err}
	}
	if err != nil {
		return nil, s.wrong(path, err)
	}
	defer func() { _ = f.Close() }() // only read from
	return readUpTo(f, path, limit)
}

// likeness returns the names of files that differ from a name only in case and extension.
func (s *configDir) likeness(name string) []string {
	stem := strings.TrimSuffix(name, filepath.Ext(name))
	var out []string
	for _, n := range s.names {
		lower := strings.ToLower(n)
		ext := filepath.Ext(lower)
		if n != name && strings.TrimSuffix(lower, ext) == stem && slices.Contains([]string{"", ".yaml", ".yml", ".json"}, ext) {
			out = append(out, n)
		}
	}
	return out
}

// suffixed returns names with a second extension, as browsers and editors add it: policy.yaml.txt.
// Backup copies such as policy.yaml.bak do not count.
func (s *configDir) suffixed(name string) []string {
	var out []string
	for _, n := range s.names {
		if name == policyFile && slices.Contains([]string{name + ".txt", name + ".yaml", name + ".yml"}, strings.ToLower(n)) {
			out = append(out, n)
		}
	}
	return out
}

// meant returns an error if there is no file of a name, but one with a similar name.
func (s *configDir) meant(name string) error {
	like := s.likeness(name)
	if len(like) == 0 {
		like = s.misspelt(name)
	}
	if len(like) == 0 {
		return nil
	}
	path := under(s.dir, like[0])
	return &configDirError{
		path: path, err: errors.New("it is not read: in this directory only " + name + " is"),
		try: "mv " + failure.ShellWord(path) + " " + failure.ShellWord(under(s.dir, name)),
	}
}

// misspelt returns names that are probably a misspelt name.
func (s *configDir) misspelt(name string) []string {
	var out []string
	for _, n := range s.names {
		if n != name && !slices.Contains([]string{configFile, policyFile}, n) && spell.Nearest(n, []string{name}) != "" {
			out = append(out, n)
		}
	}
	return out
}

// sameFile reports whether a path leads to an open file.
func sameFile(path string, f *os.File) bool {
	one, err := os.Stat(path)
	other, oerr := f.Stat()
	return cmp.Or(err, oerr) == nil && os.SameFile(one, other)
}
