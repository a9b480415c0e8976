package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/krmcat/krmcat/internal/failure"
)

const errorFormatName = "error-format"

// The forms of errors.
const (
	errorText = "text"
	errorJSON = "json"
)

func errorFormats() []string { return []string{errorText, errorJSON} }

// errorFormatFlag is for the help and for completion. errorFormat reads the value before the line
// is parsed.
func errorFormatFlag() cli.Flag {
	return &choiceFlag{
		StringFlag: &cli.StringFlag{Name: errorFormatName, Value: errorText, Usage: "`FORM` of errors on stderr: " + orList(errorFormats())},
		values:     errorFormats(),
	}
}

// errorFormat returns the form of errors that a command line requests, even if the line is wrong.
func errorFormat(args []string) (string, error) {
	form := errorText
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != errorFormatName || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !given && i+1 < len(args) {
			value = args[i+1]
		}
		if !slices.Contains(errorFormats(), value) {
			return errorText, &usageError{fmt.Sprintf("--%s: use %s, not %q", errorFormatName, orList(errorFormats()), value), "krmcat"}
		}
		form = value
	}
	return form, nil
}

// errorView is one error as JSON: docs/formats.md.
type errorView struct {
	Code      int    `json:"code"`
	Kind      string `json:"kind"`
	Message   string `json:"message"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Step      string `json:"step,omitempty"`
	Reference string `json:"reference,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Flag      string `json:"flag,omitempty"`
	Try       string `json:"try,omitempty"`
}

// encodeErrors writes errors for programs, each on a line of its own.
func (e *env) encodeErrors(found []failure.Report) {
	out := json.NewEncoder(e.errs)
	out.SetEscapeHTML(false)
	for _, r := range found {
		_ = out.Encode(errorView{
			Code: exitCode(r.Kind), Kind: string(r.Kind), Message: r.Message,
			File: r.Position.File, Line: r.Position.Line, Step: r.Step,
			Reference: r.Reference, Digest: r.Digest, Flag: r.Flag, Try: r.Try,
		})
	}
}
