package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/krmcat/krmcat/internal/cli/ui"
	"github.com/krmcat/krmcat/internal/failure"
)

// The exit codes, as the help lists them.
const (
	codeDone        = 0
	codeUnexpected  = 1
	codeUsage       = 2
	codeFunction    = 3
	codeUntrusted   = 4
	codeDenied      = 5
	codeNotFound    = 6
	codeUnreachable = 7
	codeInterrupted = CodeInterrupted
)

// CodeInterrupted is the exit code of a command that a signal ended.
const CodeInterrupted = 130

// exitCode returns the exit code of a kind of errors.
func exitCode(k failure.Kind) int {
	switch k {
	case failure.Usage:
		return codeUsage
	case failure.Function:
		return codeFunction
	case failure.Untrusted:
		return codeUntrusted
	case failure.NotPermitted:
		return codeDenied
	case failure.NotFound:
		return codeNotFound
	case failure.Unreachable:
		return codeUnreachable
	case interrupted:
		return codeInterrupted
	case failure.Unexpected:
	}
	return codeUnexpected
}

// interrupted is the kind of error of a command that a signal ended.
const interrupted failure.Kind = "interrupted"

const verboseHint = "-v, which shows more of what it wrote to stderr"

// report prints an error and returns the exit code.
func (e *env) report(ctx context.Context, err error) int {
	e.shown.Done()
	found, code := failure.Reports(err), exitCode(failure.Of(err))
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		found, code = []failure.Report{{Kind: interrupted, Details: failure.Details{Message: string(interrupted)}}}, codeInterrupted
	}
	for i := range found {
		r := &found[i]
		switch {
		case r.Full == "":
		case e.verbose:
			r.Message = r.Full
		case r.Try == "":
			r.Try = verboseHint
		}
	}
	show := e.printErrors
	if e.errorForm == errorJSON {
		show = e.encodeErrors
	}
	show(found)
	return code
}

// printErrors writes errors for people.
func (e *env) printErrors(found []failure.Report) {
	for i, r := range found {
		if e.coloured(e.Terminal) {
			_, _ = fmt.Fprintln(e.Stderr, ui.Bad.Of("Error:"), ui.CleanText(ui.Held(r.Message)))
		} else {
			_, _ = fmt.Fprintln(e.errs, "Error: "+ui.Held(r.Message))
		}
		if r.Where != "" {
			_, _ = fmt.Fprintln(e.errs, "Where: "+ui.Held(r.Where))
		}
		// A hint that the next error has too is printed once.
		if r.Try != "" && (i+1 == len(found) || found[i+1].Try != r.Try) {
			_, _ = fmt.Fprintln(e.errs, "Try: "+ui.Held(r.Try))
		}
	}
}
