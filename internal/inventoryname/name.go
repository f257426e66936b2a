package inventoryname

import (
	"strings"
	"unicode"
)

var unescape = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%")

// Shown returns a name of the API as the vSphere Client shows it.
func Shown(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	return unescape.Replace(name)
}

// Fold returns the same text for all spellings that differ only in case.
func Fold(text string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		if 'A' <= least && least <= 'Z' {
			least += 'a' - 'A' // as above
		}
		return least
	}, text)
}

// Readings returns the possible names of a text, without duplicates: the literal text, and the text without API escapes. Both are folded.
func Readings(text string) []string {
	literal := Fold(text)
	if decoded := Fold(Shown(text)); decoded != literal {
		return []string{literal, decoded}
	}
	return []string{literal}
}

// Unseen replaces folders in a path that the account cannot see.
const Unseen = "…"

// Truncated reports whether a part of a path is unknown.
func Truncated(path string) bool { return strings.Contains(path, "/"+Unseen+"/") }

// Path returns a path in one form: slashes separate the names, and names are folded and escaped as in the API. The input is a path of the API or a pattern of one.
func Path(path string) string {
	if !strings.ContainsAny(path, `%\`) {
		return Fold(path)
	}
	parts := strings.Split(path, "/")
	for i := range parts {
		parts[i] = escape.Replace(Fold(Shown(parts[i])))
	}
	return strings.Join(parts, "/")
}

var escape = strings.NewReplacer("%", "%25", "/", "%2f", `\`, "%5c")

// Base returns the last name of a path of the API, unescaped and folded.
func Base(path string) string {
	path = strings.TrimRight(path, "/")
	return Fold(Shown(path[strings.LastIndex(path, "/")+1:]))
}

// ShownPath returns a path of the API, unescaped and folded. Slashes in names and slashes between them become the same.
func ShownPath(path string) string { return Fold(Shown(path)) }
