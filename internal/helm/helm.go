package helm

import (
	"errors"
	"os"
	"strings"
)

// Path is the path of the program that kustomize starts as helm, below the home of a build. It is
// krmcat, which becomes helm. kustomize starts helm in krmcat's process group, without a context,
// and would leave it running.
const Path = "krmcat.dev/v1alpha1/helm/helm"

// Socket is the name of the render's socket in that home.
const Socket = "s"

// File is the name of the file in that home that names helm: its path, a zero byte, and the name
// that it is called by.
const File = "h"

// Line begins the line that tells the render the process group: its number follows. The
// connection stays open as long as a process of the group lives.
const Line = "helm "

// Answered is the render's response to Line.
const Answered = "ok\n"

// cannotStart is a shell's exit code for a missing program.
const cannotStart = 127

// Leave becomes helm if kustomize started this process for it, and exits if it cannot. It returns
// if the process was started for something else. It must be the first statement of main, in krmcat
// and in tests.
func Leave(args []string) {
	if !is(args) {
		return
	}
	_, _ = os.Stderr.WriteString(become(args).Error() + "\n")
	os.Exit(cannotStart)
}

// is reports whether args[0], the name that the process was started by, ends in Path below a home.
func is(args []string) bool {
	return len(args) > 0 && strings.HasSuffix(slashed(args[0]), "/"+Path)
}

func slashed(path string) string {
	if os.PathSeparator == '/' {
		return path
	}
	return strings.ReplaceAll(path, string(os.PathSeparator), "/")
}

var errRefused = errors.New("the render refused it")
