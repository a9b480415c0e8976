package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmcat/krmcat/internal/yamldoc"
	"github.com/krmcat/krmcat/pipeline/internal/resource"
)

// change is a change of a resource by a Step that may make kustomize fail later: the Step dropped
// or renamed the resource, or changed the type of a field.
type change struct {
	step    int
	id      resource.ID
	path    string // of the field; "" for the resource itself
	was, is string // the field before and after, in words; "" if it does not exist
}

// maxChanges is the maximum number of changes that are kept for errors.
const maxChanges = 1000

// compare records the changes of one resource.
func (a *applied) compare(step int, before, after *yaml.RNode) {
	if len(a.changes) >= maxChanges {
		return
	}
	c := &comparison{left: maxChanges - len(a.changes)}
	c.nodes(before.YNode(), after.YNode())
	id := resource.IDOf(before)
	for _, found := range c.found {
		found.step, found.id = step, id
		switch {
		case found.was != "":
			a.changes = append(a.changes, found)
		case len(a.additions) < maxChanges:
			a.additions = append(a.additions, found)
		}
	}
}

// dropped records a resource that a Step did not return.
func (a *applied) dropped(step int, id resource.ID) {
	if len(a.changes) < maxChanges {
		a.changes = append(a.changes, change{step: step, id: id, was: "there"})
	}
}

// comparison collects the differences of two trees of nodes.
type comparison struct {
	at    []string
	left  int
	found []change
}

func (c *comparison) note(was, is string) {
	if c.left > 0 {
		c.left--
		c.found = append(c.found, change{path: strings.Join(c.at, "."), was: was, is: is})
	}
}

func (c *comparison) nodes(was, is *yaml.Node) {
	switch {
	case was == is || c.left <= 0:
	case was.Kind != is.Kind:
		c.note(yamldoc.Describe(was), yamldoc.Describe(is))
	case was.Kind == yaml.MappingNode:
		c.mappings(was, is)
	case was.Kind == yaml.SequenceNode && len(was.Content) == len(is.Content):
		for i := range was.Content {
			c.at = append(c.at, fmt.Sprint(i))
			c.nodes(was.Content[i], is.Content[i])
			c.at = c.at[:len(c.at)-1]
		}
	case was.Kind == yaml.ScalarNode && (was.Value != is.Value || was.Style != is.Style):
		if was.ShortTag() != is.ShortTag() {
			c.note(yamldoc.Describe(was), yamldoc.Describe(is))
		}
	}
}

func (c *comparison) mappings(was, is *yaml.Node) {
	var byKey map[string]*yaml.Node // set if the fields are in another order
	for i := 0; i+1 < len(was.Content); i += 2 {
		key := was.Content[i].Value
		if resource.Orchestration(key) {
			continue
		}
		var now *yaml.Node
		if i+1 < len(is.Content) && is.Content[i].Value == key {
			now = is.Content[i+1]
		} else {
			if byKey == nil {
				byKey = make(map[string]*yaml.Node, len(is.Content)/2)
				for j := 0; j+1 < len(is.Content); j += 2 {
					byKey[is.Content[j].Value] = is.Content[j+1]
				}
			}
			now = byKey[key]
		}
		c.at = append(c.at, key)
		if now == nil {
			c.note(yamldoc.Describe(was.Content[i+1]), "")
		} else {
			c.nodes(was.Content[i+1], now)
		}
		c.at = c.at[:len(c.at)-1]
	}
	for i := len(was.Content); byKey == nil && i+1 < len(is.Content); i += 2 {
		c.put(is.Content[i], is.Content[i+1]) // new fields at the end
	}
	if byKey != nil {
		for i := 0; i+1 < len(was.Content); i += 2 {
			delete(byKey, was.Content[i].Value)
		}
		for i := 0; i+1 < len(is.Content); i += 2 {
			if byKey[is.Content[i].Value] != nil {
				c.put(is.Content[i], is.Content[i+1])
			}
		}
	}
}

// put records a new field.
func (c *comparison) put(key, value *yaml.Node) {
	c.at = append(c.at, key.Value)
	c.note("", yamldoc.Describe(value))
	c.at = c.at[:len(c.at)-1]
}

// mostTold is the maximum number of changes in an error.
const mostTold = 3

// suspects lists the changes by functions that may be the cause of an error of kustomize: those of
// resources that the error names, or else all. It is empty if there are no changes.
func (a *applied) suspects(msg string) string {
	all := slices.Clone(a.changes)
	for id, i := range a.added {
		all = append(all, change{step: i, id: id, is: "there"})
	}
	slices.SortStableFunc(all, func(a, b change) int {
		if a.step != b.step {
			return a.step - b.step
		}
		return strings.Compare(a.id.String(), b.id.String())
	})
	var named []change
	for _, c := range all {
		if c.id.MaybeIn(msg) {
			named = append(named, c)
		}
	}
	for _, c := range a.additions {
		if len(named) == 0 && strings.Contains(msg, c.id.Kind) && (resource.HasWord(msg, c.path) || resource.HasWord(msg, strings.ReplaceAll(c.path, ".", "/"))) {
			named = append(named, c)
		}
	}
	if len(named) == 0 {
		named = all
	}
	var words []string
	for _, c := range named[:min(len(named), mostTold)] {
		s := a.steps[c.step]
		words = append(words, fmt.Sprintf("%s %s (%s) %s", s.ID.Kind, s.Name, s.Where, c.words()))
	}
	if more := len(named) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("and %d more changes", more))
	}
	return strings.Join(words, ", ")
}

// words describes a change: "made spec.selector of v1 Service svc text, which was a mapping".
func (c change) words() string {
	switch {
	case c.path == "" && c.is == "":
		return "dropped or renamed " + c.id.String()
	case c.path == "" && c.was == "":
		return "returned " + c.id.String() + ", which was not there before"
	case c.was == "":
		return fmt.Sprintf("put %s, %s, into %s", c.path, c.is, c.id)
	case c.is == "":
		return fmt.Sprintf("took %s away from %s", c.path, c.id)
	}
	return fmt.Sprintf("made %s of %s %s, which was %s", c.path, c.id, c.is, c.was)
}
