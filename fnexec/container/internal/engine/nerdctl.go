package engine

import (
	"net/url"
	"strconv"
	"strings"
)

// nerdctlLog is a log of nerdctl's that keeps nothing: two processes that read what they get
// as their third and fourth file, and by closing the fifth say that they are ready. Its own
// driver "none" is there since version 2.1, and what keeps something stops reading at a line
// of 64 KiB (1.7), upon which the function hangs.
func nerdctlLog() string {
	const script = `cat <&4 >/dev/null 3<&- 5>&- & exec cat <&3 >/dev/null 4<&- 5>&-`
	return "binary:///bin/sh?" + url.Values{"-c": {script}}.Encode()
}

// nerdctlFatal is the level of the line that nerdctl ends with where it fails.
const nerdctlFatal = "fatal"

// nerdctlLine reads a line of nerdctl's log.
func nerdctlLine(line string) (level, msg string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), `time="`)
	if !ok {
		return "", "", false
	}
	_, rest, ok = strings.Cut(rest, `" level=`)
	if !ok {
		return "", "", false
	}
	level, msg, ok = strings.Cut(rest, " msg=")
	if quoted, err := strconv.QuotedPrefix(msg); err == nil {
		if msg, err = strconv.Unquote(quoted); err != nil {
			return "", "", false
		}
	}
	return level, msg, ok
}

// nerdctlFailed tells from what came on stderr, whose exit code was 1, that nerdctl failed
// before it started anything: all of it is its log, and the last line says so.
func nerdctlFailed(stderr string) bool {
	last := ""
	for line := range strings.Lines(stderr) {
		level, _, ok := nerdctlLine(line)
		if !ok {
			return false
		}
		last = level
	}
	return last == nerdctlFatal
}

// nerdctlRemark recognises what nerdctl remarks at every call with a containerd of Debian's.
func nerdctlRemark(line string) bool {
	_, msg, ok := nerdctlLine(line)
	return ok && strings.HasPrefix(msg, "failed to parse the containerd version ")
}
