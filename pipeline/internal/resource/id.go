package resource

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// ID identifies a resource: kustomize's current id, without the namespace of a cluster-scoped
// resource.
type ID struct {
	resid.Gvk
	namespace, Name string
}

// IDOf returns the id of a resource.
func IDOf(n *yaml.RNode) ID {
	return FromResID(resid.ResId{Gvk: resid.GvkFromNode(n), Name: n.GetName(), Namespace: n.GetNamespace()})
}

// FromResID converts an id of kustomize.
func FromResID(id resid.ResId) ID {
	return ID{Gvk: id.Gvk, namespace: id.EffectiveNamespace(), Name: id.Name}
}

// IDsOf returns the set of ids of resources.
func IDsOf(items []*yaml.RNode) map[ID]bool {
	ids := make(map[ID]bool, len(items))
	for _, n := range items {
		ids[IDOf(n)] = true
	}
	return ids
}

// String writes the id for people: apiVersion, kind, and namespace/name.
func (id ID) String() string {
	s := id.ApiVersion() + " " + id.Kind + " "
	if id.namespace != resid.DefaultNamespace && id.namespace != resid.TotallyNotANamespace {
		s += id.namespace + "/"
	}
	return s + id.Name
}

// NamedIn reports whether a text names the resource in one of the ways in which kustomize does.
func (id ID) NamedIn(text string) bool {
	written := resid.NewResIdWithNamespace(id.Gvk, id.Name, "").String()
	if id.namespace != resid.DefaultNamespace && id.namespace != resid.TotallyNotANamespace {
		written = resid.NewResIdWithNamespace(id.Gvk, id.Name, id.namespace).String()
	}
	return HasWord(text, written) || HasWord(text, id.String())
}

// MaybeIn reports whether a text may be about the resource: it has its kind and its name.
func (id ID) MaybeIn(text string) bool {
	return id.NamedIn(text) || HasWord(text, id.Kind) && HasWord(text, id.Name)
}

// HasWord reports whether a text has a word such as an id, and not only a longer one that contains
// it: app.ns2 contains app.ns.
func HasWord(text, word string) bool {
	more := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	for {
		before, after, found := strings.Cut(text, word)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(after, ".")) // a full stop ends a sentence, or is part of the word
		if !more(last) && !more(next) {
			return true
		}
		text = after
	}
}
