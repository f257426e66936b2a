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

// Fold returns a text of which all spellings in other case are the same.
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

// Readings are the names that a text may be, each once: as it stands, and as the API has it. They are folded.
func Readings(text string) []string {
	literal := Fold(text)
	if decoded := Fold(Shown(text)); decoded != literal {
		return []string{literal, decoded}
	}
	return []string{literal}
}

// Unseen stands in a path for folders that the account does not see.
const Unseen = "…"

// Truncated reports whether nobody knows the whole of a path.
func Truncated(path string) bool { return strings.Contains(path, "/"+Unseen+"/") }

// Path returns a path in one form: slashes part it, and names are folded and escaped as the API does it. It takes a path of the API, and a pattern of one.
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

// Base returns the last name of a path of the API, as it is shown and folded.
func Base(path string) string {
	path = strings.TrimRight(path, "/")
	return Fold(Shown(path[strings.LastIndex(path, "/")+1:]))
}

// ShownPath returns a path of the API as it is shown and folded. It does not tell slashes in names from those between them.
func ShownPath(path string) string { return Fold(Shown(path)) }
