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

// outcome is what became of a test.
type outcome string

const (
	pass outcome = "PASS"
	fail outcome = "FAIL"
	skip outcome = "SKIP"
)

// outcomes are the tests of a run that have no tests below them, by name.
type outcomes map[string]outcome

// with lists the tests that ended in one way.
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

// readOutcomes reads what a test program prints with -test.v=test2json: the mark before the
// lines that are its own keeps them apart from what tests print.
func readOutcomes(printed []byte) outcomes {
	line := regexp.MustCompile(`(?m)\x16 *--- (PASS|FAIL|SKIP): (\S+) \(`)
	all := outcomes{}
	for _, m := range line.FindAllSubmatch(printed, -1) {
		all[string(m[2])] = outcome(m[1])
	}
	for name := range all { // one that has tests below it says nothing of its own
		for i := strings.LastIndexByte(name, '/'); i > 0; i = strings.LastIndexByte(name[:i], '/') {
			delete(all, name[:i])
		}
	}
	return all
}

// difference is a test that need not pass.
type difference struct {
	test, reason string
	line         int
}

// readDifferences reads lines of the form `test: reason`; those that begin with # are comments.
func readDifferences(file string) ([]difference, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading what need not pass: %w", err)
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

// judge says what is not as it should be: a test that passes with kustomize alone and is not
// listed, and one that is listed and need not be.
func judge(theirs, ours outcomes, listed []difference) []string {
	var wrong []string
	for _, name := range theirs.with(pass) {
		is := slices.ContainsFunc(listed, func(d difference) bool { return d.test == name })
		if was := ours[name]; was != pass && !is {
			wrong = append(wrong, fmt.Sprintf("%s: it passes with kustomize, and with krmcat: %s", name, orNever(was)))
		}
	}
	for _, d := range listed {
		switch {
		case theirs[d.test] != pass:
			wrong = append(wrong, fmt.Sprintf("%s: it is listed in line %d, and with kustomize: %s", d.test, d.line, orNever(theirs[d.test])))
		case ours[d.test] == pass:
			wrong = append(wrong, fmt.Sprintf("%s: it is listed in line %d, and passes with krmcat: take the line out", d.test, d.line))
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
