package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/krmcat/krmcat/fnexec"
)

// functions are the programs that scripts use as KRM functions. Some behave well, some do not.
func functions() map[string]func() {
	return map[string]func(){
		"fn-copy":    func() { fnCopy() },
		"fn-env":     fnEnv,
		"fn-fail":    fnFail,
		"fn-garbage": func() { fmt.Println("{ this is: [no YAML") },
		"fn-silent":  func() { _, _ = io.Copy(io.Discard, os.Stdin) },
		"fn-flood":   fnFlood,
		"fn-sleep":   fnSleep,
		"fn-report":  fnReport,
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

// fnEnv returns the names of the environment variables that it sees.
func fnEnv() {
	var names []string
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		names = append(names, name)
	}
	list("environment", strings.Join(names, " ")+" "+os.Getenv("ASKED_FOR"))
}

// fnFail returns its input with a result of severity error, and fails.
func fnFail() {
	fnCopy()
	fmt.Print("results:\n- message: replicas are missing\n  severity: error\n  resourceRef: {apiVersion: v1, kind: ConfigMap, name: a}\n")
	fmt.Fprintln(os.Stderr, "looked at everything")
	os.Exit(1)
}

// fnWarn returns its input with a warning.
func fnWarn() {
	fnCopy()
	fmt.Print("results:\n- message: it could be better\n  severity: warning\n")
}

// fnReport [-mark|-nothing] CODE [SEVERITY=MESSAGE]… prints what it sees, and returns its input
// with results. With -mark it marks the input with its name, with -nothing it returns nothing. It
// exits with the code.
func fnReport() {
	args := os.Args[1:]
	mark, nothing := args[0] == "-mark", args[0] == "-nothing"
	if mark || nothing {
		args = args[1:]
	}
	code, err := strconv.Atoi(args[0])
	data, rerr := io.ReadAll(os.Stdin)
	in, perr := fnexec.Decode(data)
	err = errors.Join(err, rerr, perr)
	for i := 0; err == nil && i < len(in.Items); i++ {
		n, self := in.Items[i], in.FunctionConfig.GetName()
		notes := n.GetAnnotations()
		fmt.Fprintf(os.Stderr, "%s sees %s after %q\n", self, n.GetName(), notes["saw"])
		if mark {
			notes["saw"] += self + " "
			err = n.SetAnnotations(notes)
		}
	}
	var out []byte
	if err == nil && !nothing {
		out, err = in.Encode()
		_, _ = os.Stdout.Write(out)
		report(args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(99)
	}
	os.Exit(code)
}

// report writes results, each given as SEVERITY=MESSAGE.
func report(results []string) {
	for i, r := range results {
		if i == 0 {
			fmt.Println("results:")
		}
		severity, message, _ := strings.Cut(r, "=")
		fmt.Printf("- message: %q\n", message)
		if severity != "" {
			fmt.Printf("  severity: %s\n", severity)
		}
	}
}

// fnFlood writes 1 GB, unless it is stopped.
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

// fnSleep writes its process id to a file and sleeps forever. In a program without cgo the Go
// runtime ends an empty select as a deadlock.
func fnSleep() {
	_ = os.WriteFile("pid", fmt.Appendln(nil, os.Getpid()), 0o644)
	time.Sleep(1<<63 - 1)
}

// fnTwice returns a resource twice.
func fnTwice() { list("a", "1", "a", "2") }
