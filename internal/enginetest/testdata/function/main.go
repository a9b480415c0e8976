// Command function is a function of the suite (its first argument says which), small and
// without anything around it, for images that hold nothing else.
package main

import (
	"os"

	"github.com/krmcat/krmcat/fnexec/fnexectest/behave"
)

func main() {
	os.Exit(behave.Process(behave.Behaviour(os.Args[1]), os.Stdin, os.Stdout, os.Stderr, child))
}

// child starts one more of us, which holds our stdout.
func child() error {
	_, err := os.StartProcess(os.Args[0], []string{os.Args[0], string(behave.Hang)},
		&os.ProcAttr{Files: []*os.File{nil, os.Stdout, os.Stderr}})
	return err
}
