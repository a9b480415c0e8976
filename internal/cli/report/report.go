package report

import (
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/krmcat/krmcat/fnexec"
)

// Call is one call of a function.
type Call struct {
	Name    string // "SetLabels my-app"
	Where   string // file:line of its declaration
	Kind    string // the runtime: container, exec, starlark
	Program string // the image, the path or the reference
	Took    time.Duration
	Exit    int
	Stderr  string
	Results []fnexec.Result
	Err     error // why it failed; nil if it passed
}

// Run is all calls of a command.
type Run struct {
	Calls   []Call
	Problem string // why the command failed, if not by a call; "" for nothing
	Failed  bool
	Version string // of krmcat
	Lines   *Lines
}

// The words of a summary.
const (
	pass = "PASS"
	fail = "FAIL"
)

func (c Call) verdict() string {
	if c.Err != nil {
		return fail
	}
	return pass
}

// blames reports whether a result is a reason why the call failed.
func (c Call) blames(r fnexec.Result) bool {
	var failed *fnexec.FunctionError
	return errors.As(c.Err, &failed) && failed.Blames(r)
}

// cause returns why the call failed in one line, without its position; "" if it passed.
func (c Call) cause() string {
	var failed *fnexec.FunctionError
	switch {
	case c.Err == nil:
		return ""
	case errors.As(c.Err, &failed) && failed.Err != nil:
		return strings.ReplaceAll(failed.Err.Error(), "\n", "; ")
	}
	return strings.ReplaceAll(c.Err.Error(), "\n", "; ")
}

// subject returns what a result is about: "v1/ConfigMap/shop/a". It is "" for nothing.
func subject(ref *fnexec.ResourceRef) string {
	if ref == nil {
		return ""
	}
	var parts []string
	for _, p := range []string{ref.APIVersion, ref.Kind, ref.Namespace, ref.Name} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "/")
}

func fieldOf(r fnexec.Result) string {
	if r.Field == nil {
		return ""
	}
	return r.Field.Path
}

// position splits file:line. The line is 0 if there is none.
func position(where string) (file string, line int) {
	file = where
	if i := strings.LastIndexByte(where, ':'); i > 0 {
		for _, c := range where[i+1:] {
			if c < '0' || c > '9' || line > 1<<30 {
				return filepath.ToSlash(where), 0
			}
			line = 10*line + int(c-'0')
		}
		file = where[:i]
	}
	return filepath.ToSlash(file), line
}

// took writes a time as people read it.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
