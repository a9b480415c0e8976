package fnexec

import (
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
)

// Many functions print resources without comments, and with fields in an order of their own.
// Comments are data for other functions, so both come back from the input. kyaml does the same with
// its schema, which takes longer to load than all the rest of a call. Without it, the entries of a
// list are told apart by what names them.

// keepComments copies comments that are lost, and the order of fields.
func keepComments(from, to *yaml.Node) {
	k := keeper{lost: map[string]int{}}
	k.count(from, 1)
	k.count(to, -1)
	k.node(from, to)
}

// keeper knows how often each line of comments was lost. A comment that a parser gave to another
// node is not lost.
type keeper struct{ lost map[string]int }

func (k keeper) count(n *yaml.Node, by int) {
	for _, c := range []string{n.HeadComment, n.LineComment, n.FootComment} {
		for _, line := range commentLines(c) {
			k.lost[line] += by
		}
	}
	for _, c := range n.Content {
		k.count(c, by)
	}
}

func commentLines(comment string) []string {
	return slices.DeleteFunc(strings.Split(comment, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

func (k keeper) node(from, to *yaml.Node) {
	k.copy(from.HeadComment, &to.HeadComment)
	k.copy(from.FootComment, &to.FootComment)
	if to.Style&(yaml.FoldedStyle|yaml.LiteralStyle) == 0 { // the printer writes it into the text
		k.copy(from.LineComment, &to.LineComment)
	}
	switch {
	case from.Kind == yaml.MappingNode && to.Kind == yaml.MappingNode:
		k.mapping(from, to)
	case from.Kind == yaml.SequenceNode && to.Kind == yaml.SequenceNode:
		for i, j := range sameEntries(from.Content, to.Content) {
			if j >= 0 {
				k.node(from.Content[j], to.Content[i])
			}
		}
	}
}

// copy copies a comment if lines of it are lost, and none is in its place.
func (k keeper) copy(from string, to *string) {
	lines := commentLines(from)
	if *to != "" || !slices.ContainsFunc(lines, func(line string) bool { return k.lost[line] > 0 }) {
		return
	}
	*to = from
	for _, line := range lines {
		k.lost[line]--
	}
}

// mapping keeps the fields that both have in the order of the first, before the new ones.
func (k keeper) mapping(from, to *yaml.Node) {
	sorted := make([]*yaml.Node, 0, len(to.Content))
	kept := make(map[string]bool, len(from.Content)/2)
	for i := 0; i+1 < len(from.Content); i += 2 {
		key := from.Content[i]
		at := yamldoc.FieldIndex(to, key.Value)
		if at < 0 || kept[key.Value] {
			continue
		}
		kept[key.Value] = true
		k.node(key, to.Content[at])
		k.node(from.Content[i+1], to.Content[at+1])
		sorted = append(sorted, to.Content[at], to.Content[at+1])
	}
	for i := 0; i+1 < len(to.Content); i += 2 {
		if !kept[to.Content[i].Value] {
			sorted = append(sorted, to.Content[i], to.Content[i+1])
		}
	}
	if len(sorted) == len(to.Content) { // otherwise a key occurs twice
		to.Content = sorted
	}
}

// sameEntries returns, for each entry of a list, which entry of another it is: the next of the same
// name, or the same text; or the one at the same place if they have no names. It is -1 for none.
func sameEntries(from, to []*yaml.Node) []int {
	named := map[string][]int{}
	for j, n := range from {
		name := entryName(n)
		named[name] = append(named[name], j)
	}
	same := make([]int, len(to))
	for i, n := range to {
		same[i] = -1
		name := entryName(n)
		switch left := named[name]; {
		case name == "":
			if len(from) == len(to) && from[i].Kind == n.Kind && entryName(from[i]) == "" {
				same[i] = i
			}
		case len(left) > 0:
			same[i], named[name] = left[0], left[1:]
		}
	}
	return same
}

// entryName returns what names an entry of a list: its text, or a field by which Kubernetes merges
// lists. It is "" for none.
func entryName(n *yaml.Node) string {
	if n.Kind == yaml.ScalarNode {
		return "=" + n.Value
	}
	for _, key := range []string{"name", "mountPath", "devicePath", "ip", "topologyKey", "containerPort", "key", "type"} {
		if v := yamldoc.Field(n, key); v != nil && v.Kind == yaml.ScalarNode && v.Value != "" {
			return key + "=" + v.Value
		}
	}
	return ""
}
