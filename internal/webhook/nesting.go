package webhook

// maxNesting is the maximum nesting depth of objects and arrays in a review. A VmGroup with its managed fields has
// about fifteen levels. Decoders recurse, so depth uses stack.
const maxNesting = 64

// nestedTooDeeply reports whether a JSON text opens more than limit objects and arrays within each other. It does not
// check the syntax, and reads each byte at most once.
func nestedTooDeeply(text []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i+1)
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// endOfString returns the index of the quote that ends the string whose first byte is at i, or len(text).
func endOfString(text []byte, i int) int {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i
}
