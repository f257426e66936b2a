package progress

import (
	"strings"
	"unicode/utf8"
)

// Columns is the width limit of a line. A terminal of 80 columns does not wrap such a line, even if a full last column begins a new line.
const Columns = 79

// Fold breaks a text into lines of at most so many columns, between words if possible. The first line begins with first, and the others with rest. Line
// breaks of the text stay.
func Fold(text, first, rest string, columns int) []string {
	var lines []string
	prefix := first
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := prefix
		empty := true
		for _, word := range strings.Fields(paragraph) {
			for _, part := range pieces(word, columns-max(utf8.RuneCountInString(first), utf8.RuneCountInString(rest))) {
				switch {
				case empty:
					line += part
				case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(part) <= columns:
					line += " " + part
				default:
					lines = append(lines, line)
					line = rest + part
				}
				empty = false
			}
		}
		lines, prefix = append(lines, strings.TrimRight(line, " ")), rest
	}
	return lines
}

// pieces splits a word that is wider than a line.
func pieces(word string, width int) []string {
	var parts []string
	runes, width := []rune(word), max(width, 1)
	for len(runes) > width {
		parts, runes = append(parts, string(runes[:width])), runes[width:]
	}
	return append(parts, string(runes))
}
