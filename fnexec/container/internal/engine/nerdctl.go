package engine

import (
	"net/url"
	"strconv"
	"strings"
)

// nerdctlLog is a log driver for nerdctl that discards everything: two processes that read file
// descriptors 3 and 4, and close 5 when they are ready. The driver "none" exists since version 2.1.
// Drivers that keep logs stop reading at a line of 64 KiB (1.7), and the function then hangs.
func nerdctlLog() string {
	const script = `cat <&4 >/dev/null 3<&- 5>&- & exec cat <&3 >/dev/null 4<&- 5>&-`
	return "binary:///bin/sh?" + url.Values{"-c": {script}}.Encode()
}

// nerdctlFatal is the level of the last line if nerdctl fails.
const nerdctlFatal = "fatal"

// nerdctlLine parses a line of nerdctl's own log.
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

// nerdctlFailed reports whether nerdctl failed before it started the function, by a stderr with
// exit code 1: every line is of its log, and the last one is fatal.
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

// nerdctlRemark reports whether a line is what nerdctl warns of at each call with Debian's
// containerd.
func nerdctlRemark(line string) bool {
	_, msg, ok := nerdctlLine(line)
	return ok && strings.HasPrefix(msg, "failed to parse the containerd version ")
}
