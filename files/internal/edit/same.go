package edit

import (
	"hash/maphash"
	"math/big"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

const timestampTag = "!!timestamp"

// Same reports whether two trees without aliases have the same value. The order of keys, quotes
// and comments do not count, nor how a number, a boolean or null is written.
func Same(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	switch a.Kind {
	case yaml.ScalarNode:
		return sameScalar(a, b)
	case yaml.MappingNode:
		return sameTag(a, b) && sameFields(a, b)
	}
	if !sameTag(a, b) {
		return false
	}
	for i := range a.Content {
		if !Same(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

func sameTag(a, b *yaml.Node) bool { return a.ShortTag() == b.ShortTag() }

func sameFields(a, b *yaml.Node) bool {
	var at map[string]int // of b, once the order differs
	for i := 0; i+1 < len(a.Content); i += 2 {
		j := i
		if at == nil && a.Content[i].Value != b.Content[i].Value {
			at = fieldsOf(b)
		}
		if at != nil {
			var ok bool
			if j, ok = at[a.Content[i].Value]; !ok {
				return false
			}
		}
		if !Same(a.Content[i+1], b.Content[j+1]) {
			return false
		}
	}
	return true
}

// fieldsOf returns the indices of the keys of a mapping.
func fieldsOf(m *yaml.Node) map[string]int {
	at := make(map[string]int, len(m.Content)/2)
	for i := 0; i+1 < len(m.Content); i += 2 {
		at[m.Content[i].Value] = i
	}
	return at
}

// tagOf returns the tag of a scalar. A date is the string that it is in JSON.
func tagOf(n *yaml.Node) string {
	if t := n.ShortTag(); t != timestampTag {
		return t
	}
	return yaml.NodeTagString
}

func sameScalar(a, b *yaml.Node) bool {
	ta, tb := tagOf(a), tagOf(b)
	switch {
	case isNumber(ta) && isNumber(tb):
		return a.Value == b.Value || sameNumber(a.Value, b.Value)
	case ta != tb:
		return false
	case ta == yaml.NodeTagNull:
		return true
	case ta == yaml.NodeTagBool:
		return strings.EqualFold(a.Value, b.Value)
	}
	return a.Value == b.Value
}

func isNumber(tag string) bool { return tag == yaml.NodeTagInt || tag == yaml.NodeTagFloat }

// sameNumber compares two numbers exactly. Numbers that are too long to compare are the same only
// if they are written alike.
func sameNumber(a, b string) bool {
	x, y := number(a), number(b)
	return x != nil && y != nil && x.Cmp(y) == 0
}

// number reads an integer or a decimal fraction, nil for anything else.
func number(s string) *big.Rat {
	const longest, largest = 100, 400 // digits, and the exponent
	s = strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+")
	if len(s) > longest {
		return nil
	}
	digits := strings.TrimPrefix(s, "-")
	if len(digits) > 1 && digits[0] == '0' && !strings.ContainsAny(digits, ".eE") || strings.HasPrefix(digits, "0x") {
		i, ok := new(big.Int).SetString(s, 0)
		if !ok {
			return nil
		}
		return new(big.Rat).SetInt(i)
	}
	if _, exponent, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if e, ok := new(big.Int).SetString(exponent, 10); !ok || e.CmpAbs(big.NewInt(largest)) > 0 {
			return nil
		}
	}
	if strings.Trim(digits, "0123456789.eE+-") != "" {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

// hasher gives trees of the same value the same number, but for numbers that are written
// differently.
type hasher struct{ seed maphash.Seed }

func (h hasher) of(n *yaml.Node) uint64 {
	switch n.Kind {
	case yaml.AliasNode:
		if n.Alias != nil && n.Alias.Kind == yaml.ScalarNode {
			return h.of(n.Alias)
		}
		return h.text("*" + n.Value)
	case yaml.ScalarNode:
		return h.text(tagOf(n) + " " + n.Value)
	case yaml.MappingNode:
		sum := uint64(1)
		for i := 0; i+1 < len(n.Content); i += 2 {
			sum += mix(h.text(n.Content[i].Value), h.of(n.Content[i+1]))
		}
		return sum
	}
	sum := uint64(2)
	for _, c := range n.Content {
		sum = mix(sum, h.of(c))
	}
	return sum
}

func (h hasher) text(s string) uint64 { return maphash.String(h.seed, s) }

func mix(a, b uint64) uint64 {
	const odd = 0x9e3779b97f4a7c15
	a = (a ^ b>>29) * odd
	return (a ^ a>>32) + b*odd + 1
}
