package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/krmcat/krmcat/internal/failure"
	"github.com/krmcat/krmcat/internal/spell"
)

// NotFoundError reports that no catalog has a function.
type NotFoundError struct {
	Query    Query
	Searched []string // the catalogs, in order
	Versions []string // existing versions of the same group and kind, in order

	in []*Catalog
}

// missing returns the error about a function that a catalog does not have.
func (c *Catalog) missing(q Query, versions []string) *NotFoundError {
	return &NotFoundError{Query: q, Searched: []string{c.called()}, Versions: versions, in: []*Catalog{c}}
}

// add adds the result of a search in another catalog.
func (e *NotFoundError) add(o *NotFoundError) {
	e.Searched = append(e.Searched, o.Searched...)
	e.in = append(e.in, o.in...)
	for _, v := range o.Versions {
		if !slices.Contains(e.Versions, v) {
			e.Versions = append(e.Versions, v)
		}
	}
}

// Error implements error.
func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no catalog has %s", e.Query)
	if by, err := parseNamed(e.Query.Named); err == nil && by.kind.Version == "" && len(e.Versions) > 0 {
		fmt.Fprintf(&b, " in version %s, which its functionConfig has", plain(e.Query.Config.Version))
	}
	if len(e.Searched) > 0 {
		fmt.Fprintf(&b, ", searched %s", strings.Join(e.Searched, ", "))
	}
	switch near := e.nearest(); {
	case len(e.Versions) > 0:
		fmt.Fprintf(&b, "; it exists in version %s", strings.Join(e.Versions, ", "))
	case near != "":
		b.WriteString("; " + near)
	}
	return b.String()
}

// nearest names a function with a similar name; or a kind of the same group with a similar
// spelling, or else a group with a similar spelling that has the kind. It looks through the
// searched catalogs when it is called.
func (e *NotFoundError) nearest() string {
	if e.Query.Image != "" {
		return "" // a similar image is another one
	}
	id := e.Query.Config
	by, err := parseNamed(e.Query.Named)
	if err == nil && by.name != "" {
		return e.nearestName(by.name)
	}
	if err == nil {
		id = by.kind
	}
	var kinds, groups []string
	for _, c := range e.in {
		for i := range c.Functions {
			switch known := c.Functions[i].ID; {
			case known.Group == id.Group:
				kinds = append(kinds, known.Kind)
			case known.Kind == id.Kind:
				groups = append(groups, known.Group)
			}
		}
	}
	if kind := spell.Nearest(id.Kind, kinds); kind != "" {
		return "there is a kind " + kind + " in that group"
	}
	if group := spell.Nearest(id.Group, groups); group != "" {
		return "there is a kind " + id.Kind + " in the group " + group
	}
	return ""
}

func (e *NotFoundError) nearestName(name string) string {
	var names []string
	for _, c := range e.in {
		for i := range c.Functions {
			names = append(names, c.Functions[i].Called())
		}
	}
	if near := spell.Nearest(name, names); near != "" {
		return "did you mean " + plain(near) + "?"
	}
	return ""
}

// AmbiguousError reports that a catalog has several functions that fit a query.
type AmbiguousError struct {
	Query   Query
	Catalog string
	Names   []string // of the functions; GROUP/KIND for functions of one name; 2 to 21, in order
}

// Details implements failure.Detailed: a functionConfig can name its function.
func (e *AmbiguousError) Details() failure.Details {
	if e.Query.Named != "" {
		return failure.Details{}
	}
	return failure.Details{Try: "runtime: {function: " + plain(e.Names[0]) + "}"}
}

// Error lists the names.
func (e *AmbiguousError) Error() string {
	names := make([]string, len(e.Names))
	for i, n := range e.Names {
		names[i] = plain(n)
	}
	what := "functions named " + plain(e.Query.Named)
	if e.Query.Named == "" {
		what = "functions for " + plain(e.Query.Config.String())
	} else if strings.Contains(e.Query.Named, "/") {
		what = "functions of the kind " + plain(e.Query.Named)
	}
	count := strconv.Itoa(len(names))
	if len(names) >= maxNames {
		count, names = "many", append(names[:maxNames-1], "…")
	}
	return fmt.Sprintf("the catalog %s has %s %s: %s", e.Catalog, count, what, strings.Join(names, ", "))
}
