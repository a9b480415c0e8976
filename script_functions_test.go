package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// functions are the programs that scripts use as KRM functions, with good and with bad
// manners.
func functions() map[string]func() {
	return map[string]func(){
		"fn-copy":    func() { fnCopy() },
		"fn-env":     fnEnv,
		"fn-fail":    fnFail,
		"fn-garbage": func() { fmt.Println("{ this is: [no YAML") },
		"fn-silent":  func() { _, _ = io.Copy(io.Discard, os.Stdin) },
		"fn-flood":   fnFlood,
		"fn-sleep":   fnSleep,
		"fn-twice":   fnTwice,
		"fn-warn":    fnWarn,
	}
}

func fnCopy() []byte {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(data)
	return data
}

// list writes a ResourceList with one ConfigMap for each pair of name and data.
func list(pairs ...string) {
	fmt.Println("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:")
	for i := 0; i+1 < len(pairs); i += 2 {
		fmt.Printf("- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: %s\n  data:\n    text: %q\n", pairs[i], pairs[i+1])
	}
}

// fnEnv tells the names of the variables it sees.
func fnEnv() {
	var names []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
	}
	list("environment", strings.Join(names, " ")+" "+os.Getenv("ASKED_FOR"))
}

// fnFail gives its input back, reports why, and says no.
func fnFail() {
	fnCopy()
	fmt.Print("results:\n- message: replicas are missing\n  severity: error\n  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}\n")
	fmt.Fprintln(os.Stderr, "looked at everything")
	os.Exit(1)
}

// fnWarn gives its input back and has something to say.
func fnWarn() {
	fnCopy()
	fmt.Print("results:\n- message: it could be better\n  severity: warning\n")
}

// fnFlood writes 1 GB, unless somebody stops it.
func fnFlood() {
	signal.Ignore(syscall.SIGPIPE)
	chunk := bytes.Repeat([]byte("# a line of a comment that says nothing at all.\n"), 20_000)
	for written := 0; written < 1<<30; {
		n, err := os.Stdout.Write(chunk)
		if err != nil {
			os.Exit(1)
		}
		written += n
	}
}

// fnSleep writes its process id to a file and sleeps for ever. In a program without cgo
// the runtime takes an empty select for a deadlock, and ends it.
func fnSleep() {
	_ = os.WriteFile("pid", fmt.Appendln(nil, os.Getpid()), 0o644)
	time.Sleep(1<<63 - 1)
}

// fnTwice returns a resource twice.
func fnTwice() { list("a", "1", "a", "2") }
