package registry

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/krmcat/krmcat/mediatypes"
)

// checkTitle returns why a name is refused, "" if it is valid: a plain file name on every system.
func checkTitle(title string) string {
	stem, _, _ := strings.Cut(title, ".")
	switch {
	case title == "":
		return "it is empty"
	case len(title) > 200:
		return "it is longer than 200 bytes"
	case strings.ContainsAny(title, `/\`):
		return "it contains a path separator"
	case strings.HasPrefix(title, "."):
		return "it is hidden or leads out of the directory"
	case strings.ContainsAny(title, `:*?"<>|`):
		return "it contains a character that some systems reserve"
	case strings.IndexFunc(title, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) >= 0:
		return "it contains invisible characters"
	case strings.HasSuffix(title, ".") || strings.TrimSpace(title) != title:
		return "it ends in a dot, or begins or ends in a space"
	case reserved(strings.TrimSpace(stem)):
		return "it is the name of a device on some systems"
	case !filepath.IsLocal(title):
		return "it leads out of the directory"
	}
	return ""
}

// reserved reports whether stem is the name of a device on Windows. Artifacts must be usable on
// every system.
func reserved(stem string) bool {
	stem = strings.ToUpper(stem)
	if slices.Contains([]string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"}, stem) {
		return true
	}
	rest, com := strings.CutPrefix(stem, "COM")
	if !com {
		var lpt bool
		if rest, lpt = strings.CutPrefix(stem, "LPT"); !lpt {
			return false
		}
	}
	return len([]rune(rest)) == 1 && strings.ContainsAny(rest, "0123456789¹²³")
}

// fileNames returns the name to write each file of an artifact under, or an error for the first
// invalid one.
func fileNames(a Artifact) ([]string, error) {
	ref := a.From.Display()
	names := make([]string, len(a.Files))
	seen := map[string]bool{}
	for i, d := range a.Files {
		name := Title(d)
		if name == "" {
			name = untitled(a.Role, i)
		}
		if reason := checkTitle(name); reason != "" {
			return nil, &TitleError{Ref: ref, Title: name, Reason: reason}
		}
		// On some systems, names that differ only in case are one file.
		if key := strings.ToLower(name); seen[key] {
			return nil, &TitleError{Ref: ref, Title: name, Reason: "two files have it"}
		} else {
			seen[key] = true
		}
		names[i] = name
	}
	return names, nil
}

// untitled returns a name for a file without a title.
func untitled(r mediatypes.Role, i int) string {
	stem, ext := "file", ""
	switch r {
	case mediatypes.RoleCatalog, mediatypes.RoleDefinition:
		stem, ext = string(r), ".yaml"
	case mediatypes.RoleStarlark:
		stem, ext = "main", ".star"
	case mediatypes.RoleExec:
		stem = "function"
	case mediatypes.RoleUnknown, mediatypes.RoleContainer:
	}
	if i > 0 {
		stem = fmt.Sprintf("%s-%d", stem, i+1)
	}
	return stem + ext
}

// titled returns a descriptor with a title.
func titled(d ocispec.Descriptor, title string) ocispec.Descriptor {
	d.Annotations = map[string]string{ocispec.AnnotationTitle: title}
	return d
}
