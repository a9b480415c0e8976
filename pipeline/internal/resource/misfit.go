package resource

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Misfit returns which field of a resource cannot be printed as kustomize prints, by JSON and YAML
// 1.1, and why: "data.key holds the character U+007F, which YAML does not allow". It is empty if
// all fields can be printed.
func Misfit(n *yaml.RNode) string {
	at, why := misfit(n.YNode())
	if why == "" {
		return ""
	}
	if at = strings.TrimPrefix(at, "."); at == "" {
		return "it " + why
	}
	return at + " " + why
}

func misfit(n *yaml.Node) (at, why string) {
	switch n.Kind {
	case yaml.ScalarNode:
		return "", misfitText(n)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				return "", "has a key that is " + yamldoc.Describe(key) + ", which JSON cannot represent"
			}
			if why = misfitKey(key); why != "" {
				return "." + strconv.Quote(key.Value), "is a key that " + why
			}
			if at, why = misfit(n.Content[i+1]); why != "" {
				return "." + key.Value + at, why
			}
		}
	case yaml.SequenceNode:
		for i, c := range n.Content {
			if at, why = misfit(c); why != "" {
				return fmt.Sprintf("[%d]", i) + at, why
			}
		}
	}
	return "", ""
}

// misfitKey returns why a key cannot be printed.
func misfitKey(key *yaml.Node) string {
	tag := key.Tag
	if tag == "" {
		tag = key.ShortTag()
	}
	switch {
	case tag != yaml.NodeTagString && tag != mergeTag && key.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0:
		return "is no text, as all keys of JSON are: put it in quotes"
	case strings.Contains(key.Value, "\u0085"):
		return "holds the line break U+0085, which YAML does not allow in a key"
	}
	return misfitText(key)
}

// mergeTag is the tag of the key <<.
const mergeTag = "!!merge"

// misfitText returns why a scalar cannot be printed.
func misfitText(n *yaml.Node) string {
	for i := 0; i < len(n.Value); {
		if n.Value[i] < 0x7f { // nearly all are
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(n.Value[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "holds what is not UTF-8"
		case r <= 0x9f && r != 0x85, r == 0xfffe, r == 0xffff:
			return fmt.Sprintf("holds the character U+%04X, which YAML does not allow", r)
		}
		i += size
	}
	if len(n.Value) <= len("+.inf") && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		switch word := strings.ToLower(strings.TrimLeft(n.Value, "+-.")); {
		case word != "inf" && word != "nan":
		case n.ShortTag() == yaml.NodeTagFloat:
			return "is the number " + n.Value + ", which JSON cannot represent"
		}
	}
	return ""
}

// The annotations in which kustomize records previous names of a resource.
const (
	previousNames      = "internal.config.kubernetes.io/previousNames"
	previousNamespaces = "internal.config.kubernetes.io/previousNamespaces"
	previousKinds      = "internal.config.kubernetes.io/previousKinds"
)

// Misremembered returns why kustomize would panic at the record of a resource's previous names, ""
// if it would not.
func Misremembered(n *yaml.RNode) string {
	notes := n.GetAnnotations(previousNames, previousNamespaces, previousKinds)
	names, ok := notes[previousNames]
	if !ok {
		return ""
	}
	want := strings.Count(names, ",")
	for _, key := range []string{previousNamespaces, previousKinds} {
		if strings.Count(notes[key], ",") != want {
			return fmt.Sprintf("metadata.annotations: %s is %q, and %s is %q: kustomize keeps both for itself, with an entry for each name "+
				"that the resource had before: leave them as they are, or out", previousNames, names, key, notes[key])
		}
	}
	return ""
}
