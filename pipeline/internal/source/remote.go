package source

import (
	"strings"
)

// RemoteForm tells why kustomize would reach beyond this machine for a path, or "" if it
// would not. It is at least as wide as kustomize's own tests (an http or https URL for
// files; for directories also ssh, file, git::, user@host and github.com without a
// scheme): what is called remote here is never handed on.
func RemoteForm(path string) string {
	lower := strings.ToLower(strings.TrimSpace(path))
	switch {
	case strings.HasPrefix(lower, "git::"):
		return "it is a git URL"
	case HasScheme(lower):
		scheme, _, _ := strings.Cut(lower, "://")
		return "it is a URL (" + scheme + ")"
	case strings.HasPrefix(lower, "http:"), strings.HasPrefix(lower, "https:"):
		return "it is a URL"
	case strings.HasPrefix(lower, "github.com/"), strings.HasPrefix(lower, "github.com:"):
		return "it names a repository on github.com"
	case hasUser(lower):
		return "it names a repository on another host"
	}
	return ""
}

// HasScheme tells any URL: letters, digits, plus, dot and minus before ://.
func HasScheme(lower string) bool {
	scheme, _, ok := strings.Cut(lower, "://")
	return ok && scheme != "" && isLetter(scheme[0]) && strings.Trim(scheme, lettersAndDigits+"+.-") == ""
}

// hasUser tells the scp-like form in which kustomize sees a repository: user@host.
func hasUser(lower string) bool {
	user, _, ok := strings.Cut(lower, "@")
	return ok && user != "" && isLetter(user[0]) && strings.Trim(user, lettersAndDigits+"-") == ""
}

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyz0123456789"

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }
