package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// outcome is the result of a test.
type outcome string

const (
	pass outcome = "PASS"
	fail outcome = "FAIL"
	skip outcome = "SKIP"
)

// outcomes maps the tests of a run that have no subtests to their results.
type outcomes map[string]outcome

// with lists the tests with a result.
func (o outcomes) with(want outcome) []string {
	var names []string
	for name, was := range o {
		if was == want {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readOutcomes reads the output of a test program with -test.v=test2json. A mark before the lines
// of the testing package separates them from what tests print.
func readOutcomes(printed []byte) outcomes {
	line := regexp.MustCompile(`(?m)\x16 *--- (PASS|FAIL|SKIP): (\S+) \(`)
	all := outcomes{}
	for _, m := range line.FindAllSubmatch(printed, -1) {
		all[string(m[2])] = outcome(m[1])
	}
	for name := range all { // the result of a test with subtests is theirs
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			delete(all, name[:i])
		}
	}
	return all
}

// difference is a test that may fail.
type difference struct {
	test, reason string
	line         int
}

// readDifferences reads lines of the form `test: reason`. Lines that begin with # are comments.
func readDifferences(file string) ([]difference, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the tests that may fail: %w", err)
	}
	var all []difference
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		test, reason, _ := strings.Cut(text, ":")
		d := difference{test: test, reason: strings.TrimSpace(reason), line: n}
		if d.reason == "" {
			return nil, fmt.Errorf("%s:%d: %s needs a reason", file, n, test)
		}
		if slices.ContainsFunc(all, func(o difference) bool { return o.test == test }) {
			return nil, fmt.Errorf("%s:%d: %s is listed twice", file, n, test)
		}
		all = append(all, d)
	}
	return all, lines.Err()
}

// judge returns a message for each test that passes only with kustomize and is not listed, and for
// each test that is listed without need.
func judge(theirs, ours outcomes, listed []difference) []string {
	var wrong []string
	for _, name := range theirs.with(pass) {
		is := slices.ContainsFunc(listed, func(d difference) bool { return d.test == name })
		if was := ours[name]; was != pass && !is {
			wrong = append(wrong, fmt.Sprintf("%s: the result with kustomize is PASS, with krmcat: %s", name, orNever(was)))
		}
	}
	for _, d := range listed {
		switch {
		case theirs[d.test] != pass:
			wrong = append(wrong, fmt.Sprintf("%s: it is listed in line %d, but the result with kustomize is: %s", d.test, d.line, orNever(theirs[d.test])))
		case ours[d.test] == pass:
			wrong = append(wrong, fmt.Sprintf("%s: it is listed in line %d, but passes with krmcat: remove the line", d.test, d.line))
		}
	}
	return wrong
}

func orNever(o outcome) string {
	if o == "" {
		return "it did not run"
	}
	return string(o)
}
