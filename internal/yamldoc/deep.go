package yamldoc

import "bytes"

// deepest is the nesting beyond which a text that cannot be parsed is refused for safety. Parsers
// give up beyond their own limits, and the types of their errors do not say so.
const deepest = 5000

// tooDeep reports whether a text may be nested deeper than a parser follows, by its brackets or its
// indentation. It ignores quotes, so it is only for texts that cannot be parsed.
func tooDeep(data []byte) bool {
	depth := 0
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if len(line)-len(bytes.TrimLeft(line, " \t-?:")) > deepest {
			return true
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				if depth++; depth > deepest {
					return true
				}
			case ']', '}':
				depth = max(0, depth-1)
			}
		}
	}
	return false
}
