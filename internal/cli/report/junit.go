package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/krmcat/krmcat/fnexec"
	"github.com/krmcat/krmcat/internal/cli/ui"
)

// The elements of JUnit's XML that CI systems read: a suite for each call of a function, with a
// case for each result.
type (
	xmlSuites struct {
		XMLName  xml.Name   `xml:"testsuites"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Time     string     `xml:"time,attr"`
		Suites   []xmlSuite `xml:"testsuite"`
	}
	xmlSuite struct {
		Name     string    `xml:"name,attr"`
		Tests    int       `xml:"tests,attr"`
		Failures int       `xml:"failures,attr"`
		Errors   int       `xml:"errors,attr"`
		Skipped  int       `xml:"skipped,attr"`
		Time     string    `xml:"time,attr"`
		File     string    `xml:"file,attr,omitempty"`
		Cases    []xmlCase `xml:"testcase"`
		Stderr   string    `xml:"system-err,omitempty"`
	}
	xmlCase struct {
		Name    string   `xml:"name,attr"`
		Class   string   `xml:"classname,attr"`
		Time    string   `xml:"time,attr"`
		File    string   `xml:"file,attr,omitempty"`
		Line    int      `xml:"line,attr,omitempty"`
		Failure *xmlText `xml:"failure,omitempty"`
		Error   *xmlText `xml:"error,omitempty"`
		Out     string   `xml:"system-out,omitempty"`
	}
	xmlText struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit returns the report as JUnit's XML. A result is a failure if it is why its call failed. A
// call that failed for another reason has a case of its own.
func (r Run) JUnit() ([]byte, error) {
	out := xmlSuites{Name: "krmcat"}
	var total time.Duration
	for _, c := range r.Calls {
		total += c.Took
		out.Suites = append(out.Suites, r.suite(c))
	}
	if r.Problem != "" {
		text := ui.CleanText(r.Problem)
		out.Suites = append(out.Suites, xmlSuite{
			Name: "krmcat", Tests: 1, Errors: 1, Time: seconds(0),
			Cases: []xmlCase{{Name: "render", Class: "krmcat", Time: seconds(0), Error: &xmlText{firstLine(text), "error", text}}},
		})
	}
	for _, s := range out.Suites {
		out.Tests, out.Failures, out.Errors = out.Tests+s.Tests, out.Failures+s.Failures, out.Errors+s.Errors
	}
	out.Time = seconds(total)
	data, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the results as JUnit: %w", err)
	}
	return append(append([]byte(xml.Header), data...), '\n'), nil
}

func (r Run) suite(c Call) xmlSuite {
	file, line := position(c.Where)
	class := ui.CleanText(c.Name)
	s := xmlSuite{Name: class, Time: seconds(c.Took), File: ui.CleanText(file), Stderr: ui.CleanText(c.Stderr)}
	for _, res := range c.Results {
		one := r.testCase(c, res)
		if one.Class = class; one.Failure != nil {
			s.Failures++
		}
		s.Cases = append(s.Cases, one)
	}
	if c.Err != nil && s.Failures == 0 || len(s.Cases) == 0 {
		own := xmlCase{Name: cmp.Or(ui.CleanText(c.Kind), "function"), Class: class, Time: seconds(c.Took), File: s.File, Line: line}
		if c.Err != nil {
			text := ui.CleanText(c.cause())
			own.Failure, s.Failures = &xmlText{firstLine(text), "error", text}, 1
		}
		s.Cases = append(s.Cases, own)
	}
	s.Tests = len(s.Cases)
	return s
}

func (r Run) testCase(c Call, res fnexec.Result) xmlCase {
	at := r.Lines.Of(res)
	var name []string
	for _, part := range []string{subject(res.ResourceRef), fieldOf(res)} {
		if part != "" {
			name = append(name, part)
		}
	}
	text := ui.CleanText(strings.TrimSpace(res.Message))
	one := xmlCase{
		Name: ui.CleanText(cmp.Or(strings.Join(name, " "), firstLine(res.Message), res.Severity)),
		Time: seconds(0), File: ui.CleanText(at.File), Line: at.Line,
	}
	if c.blames(res) {
		one.Failure = &xmlText{firstLine(text), ui.CleanText(res.Severity), text}
	} else {
		one.Out = ui.CleanText(describe(res, at))
	}
	return one
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
