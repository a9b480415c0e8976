package yamldoc

import "bytes"

// deepest is how deep a text may be nested before what a parser makes of it is no mere mistake:
// parsers give up beyond, and do not say so by the type of their error.
const deepest = 5000

// tooDeep tells a text that may be nested deeper than any parser follows, by its brackets or by
// its indentation. It does not know what stands in quotes: it is asked only where the text cannot
// be parsed.
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
