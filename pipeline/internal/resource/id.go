package resource

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// SpokenOf tells whether a text names a resource, in one of the ways in which kustomize does.
func (id ID) SpokenOf(text string) bool {
	written := resid.NewResIdWithNamespace(id.Gvk, id.Name, "").String()
	if id.namespace != resid.DefaultNamespace && id.namespace != resid.TotallyNotANamespace {
		written = resid.NewResIdWithNamespace(id.Gvk, id.Name, id.namespace).String()
	}
	return SpeaksOf(text, written) || SpeaksOf(text, id.String())
}

// HintedAt tells whether a text may mean a resource: it has its kind and its name.
func (id ID) HintedAt(text string) bool {
	return id.SpokenOf(text) || SpeaksOf(text, id.Kind) && SpeaksOf(text, id.Name)
}

// goID is how kustomize names a resource in some messages: as a value of Go.
const goID = `(?:id )?resid\.ResId\{Gvk:resid\.Gvk\{Group:"([^"]*)", Version:"([^"]*)", Kind:"([^"]*)", isClusterScoped:(?:true|false)\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`

// PlainIDs names resources as everywhere else.
func PlainIDs(msg string) string {
	ids := regexp.MustCompile(goID)
	return ids.ReplaceAllStringFunc(msg, func(text string) string {
		m := ids.FindStringSubmatch(text)
		id := resid.NewResIdWithNamespace(resid.NewGvk(m[1], m[2], m[3]), m[4], m[5])
		return ID{Gvk: id.Gvk, namespace: id.EffectiveNamespace(), Name: id.Name}.String()
	})
}

// SpeaksOf tells whether a text names a resource by its id, and not another whose id goes on
// before or behind it, as that of app.ns2 does behind app.ns.
func SpeaksOf(text, id string) bool {
	more := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }
	for {
		before, after, found := strings.Cut(text, id)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(strings.TrimPrefix(after, ".")) // a full stop ends a sentence, or goes on
		if !more(last) && !more(next) {
			return true
		}
		text = after
	}
}

// IDKey is the annotation under which kustomize tells a transformer the current id of a
// resource.
const IDKey = "kustomize.config.k8s.io/id"

// ID is what tells resources apart: kustomize's current id, in which the namespace
// of what has none does not count.
type ID struct {
	resid.Gvk
	namespace, Name string
}

func IDOf(n *yaml.RNode) ID {
	id := resid.ResId{Gvk: resid.GvkFromNode(n), Name: n.GetName(), Namespace: n.GetNamespace()}
	return ID{Gvk: id.Gvk, namespace: id.EffectiveNamespace(), Name: id.Name}
}

func (id ID) String() string {
	s := id.ApiVersion() + " " + id.Kind + " "
	if id.namespace != resid.DefaultNamespace && id.namespace != resid.TotallyNotANamespace {
		s += id.namespace + "/"
	}
	return s + id.Name
}

func IDsOf(items []*yaml.RNode) map[ID]bool {
	ids := make(map[ID]bool, len(items))
	for _, n := range items {
		ids[IDOf(n)] = true
	}
	return ids
}
