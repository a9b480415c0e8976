package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/krmcat/krmcat/fnexec"
)

// image is an image that is unpacked on this machine's disk.
type image struct {
	name   string // for people
	root   string // absolute path of its root directory, which must not be written to
	config imageConfig
}

// foundProgram is a program in an image.
type foundProgram struct {
	path string // absolute path in the image, by which it is started
	real string // the same with all links followed
}

// lookup finds a program in the image: in PATH, or, if name has a slash, relative to the working
// directory. The error is a *fnexec.ProgramError.
func (i image) lookup(name string) (foundProgram, error) {
	refuse := func(reason string) (foundProgram, error) {
		return foundProgram{}, &fnexec.ProgramError{Image: i.name, Program: name, Reason: reason}
	}
	root, err := os.OpenRoot(i.root)
	if err != nil {
		return foundProgram{}, err
	}
	defer root.Close()
	switch {
	case name == "":
		return refuse("the image names none, in neither Entrypoint nor Cmd")
	case strings.ContainsRune(name, '/'):
		p := i.absolute(name)
		to, err := findProgram(root, p)
		if err != nil {
			return refuse(err.Error())
		}
		return foundProgram{p, to}, nil
	}
	seen := error(nil)
	for dir := range strings.SplitSeq(i.config.path(), ":") {
		p := i.absolute(dir + "/" + name)
		if dir == "" {
			p = i.absolute(name)
		}
		to, err := findProgram(root, p)
		if err == nil {
			return foundProgram{p, to}, nil
		}
		if seen == nil && !errors.Is(err, errNotThere) {
			seen = err // as in a shell: a file that is not executable is the better error
		}
	}
	if seen != nil {
		return refuse(seen.Error())
	}
	return refuse("it is not in the image's PATH, " + i.config.path())
}

// absolute joins the working directory and a name. It does not clean the path: with links, x/..
// may be another directory.
func (i image) absolute(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(i.config.WorkingDir, "/") + "/" + name
}

// workingDir refuses an image whose working directory is not a directory. The error is an
// *UnfitError.
func (i image) workingDir() error {
	root, err := os.OpenRoot(i.root)
	if err != nil {
		return err
	}
	defer root.Close()
	_, mode, err := follow(root, i.config.WorkingDir)
	switch {
	case err != nil:
		return &UnfitError{i.name, fmt.Sprintf("the working directory %q: %v", i.config.WorkingDir, err)}
	case !mode.IsDir():
		return &UnfitError{i.name, fmt.Sprintf("the working directory %q is a file", i.config.WorkingDir)}
	}
	return nil
}

// findProgram follows a path below a root directory, as in a chroot, to an executable file.
func findProgram(root *os.Root, name string) (string, error) {
	at, mode, err := follow(root, name)
	if err == nil {
		err = fnexec.Executable(mode)
	}
	return at, err
}

// follow follows a path below a root directory, as in a chroot.
func follow(root *os.Root, name string) (string, fs.FileMode, error) {
	mode, budget := fs.ModeDir, int64(2*maxSteps)
	at, err := walkPath(name, &budget, func(at []string, name string) (string, bool, error) {
		p := strings.Join(append(at[:len(at):len(at)], name), "/")
		info, err := root.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", false, errNotThere
		case err != nil && !mode.IsDir():
			return "", false, errNotDir
		case err != nil:
			return "", false, err
		}
		if mode = info.Mode(); mode&fs.ModeSymlink == 0 {
			return "", false, nil
		}
		mode = fs.ModeDir // of a parent directory
		text, err := root.Readlink(p)
		return text, true, err
	})
	return "/" + strings.Join(at, "/"), mode, err
}
