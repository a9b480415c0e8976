package report

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/ui"
)

func itoa(i int) string { return strconv.Itoa(i) }

// jsonRun is the report as JSON: docs/results.md.
type jsonRun struct {
	Succeeded bool       `json:"succeeded"`
	Error     string     `json:"error,omitempty"`
	Functions []jsonCall `json:"functions"`
}

type jsonCall struct {
	Name     string       `json:"name"`
	Where    string       `json:"where,omitempty"`
	Runtime  string       `json:"runtime,omitempty"`
	Program  string       `json:"program,omitempty"`
	Passed   bool         `json:"passed"`
	Error    string       `json:"error,omitempty"`
	ExitCode int          `json:"exitCode"`
	Seconds  float64      `json:"seconds"`
	Stderr   string       `json:"stderr,omitempty"`
	Results  []jsonResult `json:"results"`
}

// jsonResult is a result with its position.
type jsonResult struct {
	fnexec.Result

	Fails    bool          `json:"fails,omitempty"` // it is why the function failed
	Position *jsonPosition `json:"position,omitempty"`
}

type jsonPosition struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
}

// JSON returns the report as JSON.
func (r Run) JSON() ([]byte, error) {
	out := jsonRun{Succeeded: !r.Failed, Error: r.Problem, Functions: []jsonCall{}}
	for _, c := range r.Calls {
		call := jsonCall{
			Name: c.Name, Where: c.Where, Runtime: c.Kind, Program: c.Program, Passed: c.Err == nil, Error: c.cause(),
			ExitCode: c.Exit, Seconds: c.Took.Seconds(), Stderr: c.Stderr, Results: []jsonResult{},
		}
		for _, res := range c.Results {
			one := jsonResult{Result: res, Fails: c.blames(res)}
			if at := r.Lines.Of(res); at.File != "" {
				one.Position = &jsonPosition{at.File, at.Line}
			}
			call.Results = append(call.Results, one)
		}
		out.Functions = append(out.Functions, call)
	}
	return encodeJSON(out)
}

// encodeJSON encodes a value so that a terminal that is shown the file is not controlled by it.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(ui.CleanText(b.String())), nil // its escapes are those of JSON
}
