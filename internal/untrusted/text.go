package untrusted

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// stripped stands for what is not shown. To drop it without a trace would make two names look the same.
	stripped = unicode.ReplacementChar
	// ellipsis ends what was cut.
	ellipsis = "…"
	// maxName bounds a name, in bytes. vCenter's own limit is 80 characters.
	maxName = 160
)

// Text returns s as it may be shown: valid UTF-8 of at most limit bytes, which are at least 3, in one line. Each run of characters that control
// something, that cannot be seen, or that do not exist is one replacement character, and each of white space that breaks lines one space. What is too long is
// cut between two characters and ends in an ellipsis. Ordinary text is returned as it is, without an allocation, and so is what Text has returned.
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

// Name returns a name as it may stand within a sentence: as it is if it has nothing but letters, digits and what commonly joins them, else as
// [Quoted] does. What Name has returned stays as it is.
func Name(s string) string {
	if Plain(s) || isQuoted(s) {
		return s
	}
	return Quoted(s)
}

// Plain reports whether a name has nothing but letters, digits and what commonly joins them. Only such a name may stand in a command that somebody copies into a
// shell: to others quotes are no hindrance.
func Plain(s string) bool {
	return len(s) <= maxName && s != "" && strings.IndexFunc(s, unusual) < 0
}

// Quoted returns a name in quotes, with quotes and backslashes in it escaped. It has at most 322 bytes.
func Quoted(s string) string { return strconv.QuoteToGraphic(Text(s, maxName)) }

// isQuoted reports whether Quoted has returned s, or might have.
func isQuoted(s string) bool {
	if len(s) > 2*maxName+2 || !strings.HasPrefix(s, `"`) {
		return false
	}
	name, err := strconv.Unquote(s)
	return err == nil && Quoted(name) == s
}

// joins are the characters, besides letters and digits, that ordinary names and inventory paths have.
const joins = "-_./@+:%"

func unusual(r rune) bool {
	return classify(r) != r || r == stripped || !unicode.In(r, unicode.L, unicode.M, unicode.N) && !strings.ContainsRune(joins, r)
}

// harmless reports whether nothing of s is to be replaced.
func harmless(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return classify(r) != r }) < 0
}

// classify returns what is shown for a character: itself, or what stands for its kind.
func classify(r rune) rune {
	switch {
	case r >= ' ' && r <= '~':
		return r
	case r == '\n', r == '\r', r == '\t', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
		return ' '
	case !unicode.IsGraphic(r), unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		// Controls, formats (which turn the direction of writing), private use, surrogates and what is not assigned are not graphic.
		return stripped
	}
	return r
}

// cut makes room for an ellipsis.
func cut(s string, limit int) string {
	for len(s)+len(ellipsis) > limit {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s + ellipsis
}
