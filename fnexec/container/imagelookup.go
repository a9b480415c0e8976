package container

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
)

// image is one that lies unpacked on this machine's disk.
type image struct {
	name   string // for people
	root   string // absolute path of its root directory; not to be written to
	config imageConfig
}

// imageProgram is a program of an image.
type imageProgram struct {
	path string // absolute, inside the image: what is to be started
	real string // the same, with every link followed
}

// lookup finds a program by its name, as its image would: along PATH, or, where it has a
// slash, from the working directory. The error is a *ProgramError.
func (i image) lookup(name string) (imageProgram, error) {
	refuse := func(reason string) (imageProgram, error) {
		return imageProgram{}, &ProgramError{Image: i.name, Program: name, Reason: reason}
	}
	root, err := os.OpenRoot(i.root)
	if err != nil {
		return imageProgram{}, err
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
		return imageProgram{p, to}, nil
	}
	seen := error(nil)
	for dir := range strings.SplitSeq(i.config.path(), ":") {
		p := i.absolute(dir + "/" + name)
		if dir == "" {
			p = i.absolute(name)
		}
		to, err := findProgram(root, p)
		if err == nil {
			return imageProgram{p, to}, nil
		}
		if seen == nil && !errors.Is(err, errNotThere) {
			seen = err // like a shell: what is there and cannot be run is worth more words
		}
	}
	if seen != nil {
		return refuse(seen.Error())
	}
	return refuse("it is not in the image's PATH, " + i.config.path())
}

// absolute is a name from the working directory. Nothing is cleaned away: x/.. may be
// another directory.
func (i image) absolute(name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(i.config.WorkingDir, "/") + "/" + name
}

// findProgram follows a path in a root directory, as in a chroot, to a file that can be
// executed.
func findProgram(root *os.Root, name string) (string, error) {
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
		mode = fs.ModeDir // of where the way goes on
		text, err := root.Readlink(p)
		return text, true, err
	})
	switch {
	case err != nil:
		return "", err
	case mode.IsDir():
		return "", errors.New("it is a directory")
	case !mode.IsRegular():
		return "", errors.New("it is not a file")
	case mode.Perm()&0o111 == 0 && runtime.GOOS != "windows":
		return "", errors.New("it is not executable")
	}
	return "/" + strings.Join(at, "/"), nil
}
