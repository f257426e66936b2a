package policy

import "strings"

// Matches reports whether pattern matches the whole of s. In a pattern, * stands for any sequence of characters, including an empty one and slashes;
// every other character stands for itself.
func Matches(pattern, s string) bool {
	return matchParts(strings.Split(pattern, "*"), s)
}

// matchParts matches a pattern that was split at its stars.
func matchParts(parts []string, s string) bool {
	if len(parts) == 1 {
		return parts[0] == s
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s = s[i+len(part):]
	}
	return strings.HasSuffix(s, last)
}

// matchesAny reports whether one of patterns matches one of the names of an object.
func matchesAny(patterns []string, names ...string) bool {
	for _, pattern := range patterns {
		for _, name := range names {
			if name != "" && Matches(pattern, name) {
				return true
			}
		}
	}
	return false
}
