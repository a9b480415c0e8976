package pipeline

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// spokenOf tells whether a text names a resource, in one of the ways in which kustomize does.
func (id resourceID) spokenOf(text string) bool {
	written := resid.NewResIdWithNamespace(id.Gvk, id.name, "").String()
	if id.namespace != resid.DefaultNamespace && id.namespace != resid.TotallyNotANamespace {
		written = resid.NewResIdWithNamespace(id.Gvk, id.name, id.namespace).String()
	}
	return speaksOf(text, written) || speaksOf(text, id.String())
}

// hintedAt tells whether a text may mean a resource: it has its kind and its name.
func (id resourceID) hintedAt(text string) bool {
	return id.spokenOf(text) || speaksOf(text, id.Kind) && speaksOf(text, id.name)
}

// goID is how kustomize names a resource in some messages: as a value of Go.
const goID = `(?:id )?resid\.ResId\{Gvk:resid\.Gvk\{Group:"([^"]*)", Version:"([^"]*)", Kind:"([^"]*)", isClusterScoped:(?:true|false)\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`

// plainIDs names resources as everywhere else.
func plainIDs(msg string) string {
	ids := regexp.MustCompile(goID)
	return ids.ReplaceAllStringFunc(msg, func(text string) string {
		m := ids.FindStringSubmatch(text)
		id := resid.NewResIdWithNamespace(resid.NewGvk(m[1], m[2], m[3]), m[4], m[5])
		return resourceID{Gvk: id.Gvk, namespace: id.EffectiveNamespace(), name: id.Name}.String()
	})
}

// speaksOf tells whether a text names a resource by its id, and not another whose id goes on
// before or behind it, as that of app.ns2 does behind app.ns.
func speaksOf(text, id string) bool {
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

// idKey is the annotation under which kustomize tells a transformer the current id of a
// resource.
const idKey = "kustomize.config.k8s.io/id"

// resourceID is what tells resources apart: kustomize's current id, in which the namespace
// of what has none does not count.
type resourceID struct {
	resid.Gvk
	namespace, name string
}

func idOf(n *yaml.RNode) resourceID {
	id := resid.ResId{Gvk: resid.GvkFromNode(n), Name: n.GetName(), Namespace: n.GetNamespace()}
	return resourceID{Gvk: id.Gvk, namespace: id.EffectiveNamespace(), name: id.Name}
}

func (id resourceID) String() string {
	s := id.ApiVersion() + " " + id.Kind + " "
	if id.namespace != resid.DefaultNamespace && id.namespace != resid.TotallyNotANamespace {
		s += id.namespace + "/"
	}
	return s + id.name
}

func idsOf(items []*yaml.RNode) map[resourceID]bool {
	ids := make(map[resourceID]bool, len(items))
	for _, n := range items {
		ids[idOf(n)] = true
	}
	return ids
}
