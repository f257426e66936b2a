package untrusted

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// stripped replaces characters that are not displayed. Without a replacement, two names could look the same.
	stripped = unicode.ReplacementChar
	ellipsis = "…"
	// maxName limits a name, in bytes. vCenter's own limit is 80 characters.
	maxName = 160
)

// Text returns s in a form that is safe to display: valid UTF-8 of at most limit bytes, which must be at least 3, in one line. One replacement character
// replaces each run of control, invisible and unassigned characters. One space replaces each run of line-breaking white space. Text that is too long is cut
// between two characters and ends in an ellipsis. Ordinary text, and text that Text has returned, is returned unchanged, without an allocation.
func Text(s string, limit int) string {
	if len(s) <= limit && harmless(s) {
		return s
	}
	var b strings.Builder
	var last rune
	for _, r := range s {
		if is := classify(r); is != r || is == stripped {
			if is == last {
				continue
			}
			r = is
		}
		last = r
		if b.Len()+utf8.RuneLen(r) > limit {
			return cut(b.String(), limit)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Name returns a name in a form that is safe within a sentence: unchanged if it has only letters, digits and common separators, otherwise like [Quoted]. A
// result of Name stays unchanged.
func Name(s string) string {
	if Plain(s) || isQuoted(s) {
		return s
	}
	return Quoted(s)
}

// Plain reports whether a name has only letters, digits and common separators. Only such a name can be part of a command that users copy into a shell: quotes
// do not make other names safe.
func Plain(s string) bool {
	return len(s) <= maxName && s != "" && strings.IndexFunc(s, unusual) < 0
}

// Quoted returns a name in quotes, with quotes and backslashes in it escaped. It has at most 322 bytes.
func Quoted(s string) string { return strconv.QuoteToGraphic(Text(s, maxName)) }

// isQuoted reports whether s is a possible result of Quoted.
func isQuoted(s string) bool {
	if len(s) > 2*maxName+2 || !strings.HasPrefix(s, `"`) {
		return false
	}
	name, err := strconv.Unquote(s)
	return err == nil && Quoted(name) == s
}

// joins are the separators, besides letters and digits, in ordinary names and inventory paths.
const joins = "-_./@+:%"

func unusual(r rune) bool {
	return classify(r) != r || r == stripped || !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(joins, r)
}

func harmless(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return classify(r) != r }) < 0
}

// classify returns the displayed form of a character: itself, or its replacement.
func classify(r rune) rune {
	switch {
	case r >= ' ' && r <= '~':
		return r
	case r == '\n', r == '\r', r == '\t', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
		return ' '
	case !unicode.IsGraphic(r), unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		// Control and format characters (which reverse the direction of text), private use, surrogates and unassigned characters are not graphic.
		return stripped
	}
	return r
}

func cut(s string, limit int) string {
	for len(s)+len(ellipsis) > limit {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s + ellipsis
}
