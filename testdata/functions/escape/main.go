//go:build linux

// Command escape is a function that tries to escape from its sandbox. Its first argument names an
// attempt. If the attempt was refused, it prints why and exits with 1. If not, it prints ESCAPED
// and returns an empty list.
//
//	escape ATTEMPT ARGUMENT…
//	escape batch -- ATTEMPT ARGUMENT… -- ATTEMPT ARGUMENT…
//
// A successful attempt does no harm: it writes files with names of the test and kills processes of
// the test, and what it consumes is bounded.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// attempt makes one attempt. An error means that it was refused.
type attempt func(args []string) error

func attempts() map[string]attempt {
	return map[string]attempt{
		"read": read, "list": list, "write": write, "append": appendTo, "open": open, "remove": remove,
		"tcp": tcp, "udp": udp, "unix": unixSocket, "unix-pair": unixPair, "fifo": fifo, "packet": packet, "vsock": vsock,
		"processes": processes, "environ": environ, "proc-files": procFiles, "descriptors": descriptors,
		"kill": kill, "signal-as-owner": signalAsOwner, "limit-other": limitOther, "slow-other": slowOther, "ipc": ipc, "families": families, "flags": flags, "empty": empty,
		"kill-parent": killParent, "kill-all": killAll,
		"forks": forks, "threads": threads, "fill": fill,
		"private-memory": privateMemory, "shared-memory": sharedMemory, "memfd": memfd, "many-memory": manyMemory,
		"end": endItself, "signal-first": signalFirst, "enter-first": enterFirst, "limit-first": limitFirst,
		"flood": flood, "linger": linger, "linger-holding": lingerHolding,
		"setuid": setUID, "run-as": runAs, "capabilities": capabilities,
		"ptrace": ptrace, "vm-read": vmRead, "mount": mount, "unshare": unshare, "user-namespace": userNamespace,
		"setns": setns, "chroot": chroot, "mknod": mknod, "io-uring": ioUring, "bpf": bpf, "keys": keys,
		"cgroup": cgroup, "terminal": terminal, "handle": handle, "remount": remount, "thirty-two": thirtyTwo,
	}
}

// helpers are the programs that attempts start, all of them this program.
func helpers() map[string]func([]string) {
	return map[string]func([]string){
		"as-child": func([]string) { time.Sleep(patience) },
		"as-lingerer": func(args []string) {
			time.Sleep(patience)
			_ = os.WriteFile(args[0], []byte("still here\n"), 0o644)
		},
		"as-victim": func([]string) { _, _ = io.Copy(io.Discard, os.Stdin) },
		"as-32-bit": func([]string) {
			if err := askThirtyTwo(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
		"as-first":  first,
		"as-user":   func([]string) { fmt.Println(os.Geteuid(), effective()) },
		"as-caps":   func([]string) { fmt.Println(effective()) },
		"as-eater":  func(args []string) { _ = privateMemory(args); time.Sleep(patience) },
		"as-nobody": func([]string) {},
	}
}

// patience is the time after which a started process ends by itself.
const patience = 20 * time.Second

// opened lists the descriptors that were open when this process started.
var opened = inherited()

func main() {
	name, args := os.Args[1], os.Args[2:]
	if h := helpers()[name]; h != nil {
		h(args)
		return
	}
	if name == "batch" {
		batch(args)
		return
	}
	if err := try(name, args); err != nil {
		fmt.Fprintf(os.Stderr, "refused: %v\n", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "ESCAPED")
	fmt.Print("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n" +
		"- {apiVersion: v1, kind: ConfigMap, metadata: {name: escaped}, data: {text: ESCAPED}}\n")
}

func try(name string, args []string) error {
	f := attempts()[name]
	if f == nil {
		fmt.Fprintln(os.Stderr, "UNKNOWN attempt "+name)
		os.Exit(2)
	}
	return f(args)
}

// batch makes several attempts, each in a process of its own, and prints the result of each.
func batch(args []string) {
	var all [][]string
	for _, a := range args {
		if a == "--" {
			all = append(all, nil)
			continue
		}
		all[len(all)-1] = append(all[len(all)-1], a)
	}
	for i, one := range all {
		said, err := start(one...).CombinedOutput()
		word := "refused"
		if err == nil || bytes.Contains(said, []byte("ESCAPED")) || bytes.Contains(said, []byte("UNKNOWN")) {
			word = "ESCAPED"
		}
		lines := strings.Split(strings.TrimSpace(string(said)), "\n")
		fmt.Fprintf(os.Stderr, "attempt %d %s: %s\n", i, word, strings.Join(lines[:min(len(lines), 3)], "; "))
	}
	os.Exit(1)
}

// start prepares another process of this program.
func start(args ...string) *exec.Cmd { return exec.Command(self(), args...) }

// self returns the path of this program, also without /proc.
func self() string {
	if p, err := os.Executable(); err == nil {
		return p
	}
	return os.Args[0]
}

// each returns the errors of all attempts, or nil if one succeeded.
func each(args []string, f func(string) error) error {
	if len(args) == 0 {
		return errors.New("nothing to try")
	}
	var errs []error
	for _, a := range args {
		err := f(a)
		if err == nil {
			fmt.Fprintln(os.Stderr, "succeeded: "+a)
			return nil
		}
		errs = append(errs, err)
	}
	return errors.New(strings.ReplaceAll(errors.Join(errs...).Error(), "\n", "; "))
}

// call makes a system call by its number.
func call(what string, n uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, e := syscall.RawSyscall6(n, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
		return fmt.Errorf("%s: %w", what, e)
	}
	return nil
}
