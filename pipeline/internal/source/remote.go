package source

import (
	"strings"
)

// RemoteForm returns why kustomize reads a path as a remote one, "" if it does not. It covers at
// least kustomize's own checks (an http or https URL for files; for directories also ssh, file,
// git::, user@host and github.com without a scheme). kustomize never gets such a path.
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

// HasScheme reports whether a text begins with a scheme: letters, digits, plus, dot and minus
// before ://.
func HasScheme(lower string) bool {
	scheme, _, ok := strings.Cut(lower, "://")
	return ok && scheme != "" && isLetter(scheme[0]) && strings.Trim(scheme, lettersAndDigits+"+.-") == ""
}

// hasUser reports whether a text is user@host, which kustomize reads as a repository.
func hasUser(lower string) bool {
	user, _, ok := strings.Cut(lower, "@")
	return ok && user != "" && isLetter(user[0]) && strings.Trim(user, lettersAndDigits+"-") == ""
}

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyz0123456789"

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }
