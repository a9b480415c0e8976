// Command function is a function of the suite; its first argument says which. It is small and has
// no dependencies, for images that contain nothing else.
package main

import (
	"os"

	"github.com/krmcat/krmcat/fnexec/fnexectest/behave"
)

func main() {
	os.Exit(behave.Process(behave.Behaviour(os.Args[1]), os.Stdin, os.Stdout, os.Stderr, child))
}

// child starts this program again, and the new process holds stdout open.
func child() error {
	_, err := os.StartProcess(os.Args[0], []string{os.Args[0], string(behave.Hang)},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	return err
}
