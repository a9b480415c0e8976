package target

import (
	"regexp"
	"strings"
)

// userAtHost is the scp-like form in which kustomize sees a git repository.
var userAtHost = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// schemeForm is any URL.
var schemeForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*://`)

// remoteForm tells why kustomize would reach beyond this machine for a path, or "" if it
// would not. It is at least as wide as kustomize's own tests (an http or https URL for
// files; for directories also ssh, file, git::, user@host and github.com without a
// scheme): what is called remote here is never handed on.
func remoteForm(path string) string {
	lower := strings.ToLower(strings.TrimSpace(path))
	switch {
	case strings.HasPrefix(lower, "git::"):
		return "it is a git URL"
	case schemeForm.MatchString(lower):
		scheme, _, _ := strings.Cut(lower, "://")
		return "it is a " + scheme + " URL"
	case strings.HasPrefix(lower, "http:"), strings.HasPrefix(lower, "https:"):
		return "it is a URL"
	case strings.HasPrefix(lower, "github.com/"), strings.HasPrefix(lower, "github.com:"):
		return "it names a repository on github.com"
	case userAtHost.MatchString(lower):
		return "it names a repository on another host"
	}
	return ""
}
