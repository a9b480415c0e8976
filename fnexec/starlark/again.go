package starlark

import "sigs.k8s.io/kustomize/kyaml/yaml"

// again is the node of a dict or list in the making: the one that the value was made of, as long
// as nothing in it changed, or else a similar one. A value in two places becomes two nodes, since
// nodes are edited.
type again struct {
	of      *source
	twice   bool         // the node is in the output already
	len     int          // nodes so far
	size    int          // nodes that are expected
	content []*yaml.Node // of a new node
}

// again begins the node of a value.
func (s *source) again(size int) again {
	a := again{of: s, twice: s.used, size: size}
	if s.used || len(s.node.Content) != size {
		a.content = make([]*yaml.Node, 0, size)
	}
	return a
}

// add adds the next node in it.
func (a *again) add(n *yaml.Node) {
	old := a.of.node.Content
	if a.content == nil && (a.len >= len(old) || old[a.len] != n) {
		a.content = append(make([]*yaml.Node, 0, a.size), old[:a.len]...)
	}
	a.len++
	if a.content == nil {
		return
	}
	if a.twice && n.Kind == yaml.ScalarNode { // a list or dict in it is another node already
		scalar := *n
		n = &scalar
	}
	a.content = append(a.content, n)
}

// node returns the finished node.
func (a *again) node() *yaml.Node {
	a.of.used = true
	src := a.of.node
	if a.content == nil && a.len == len(src.Content) {
		return src
	}
	n := *src
	if len(src.Content) == 0 && !a.twice {
		n.Style &^= yaml.FlowStyle // the old one was {} or []
	}
	n.Content = a.content
	return &n
}
