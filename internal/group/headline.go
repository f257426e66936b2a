package group

import (
	"cmp"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// maxLastMessage is the maximum number of characters in status.lastMessage, a column of kubectl.
	maxLastMessage = 120
	// longWord is the number of characters that remain of a long name in a text that is too long.
	longWord = 40
)

// briefly returns a short form of a blocker that begins with the object.
func briefly(b plan.Blocker) string { return cmp.Or(b.Brief, b.Message) }

// headline shortens a text for status.lastMessage. The condition has the whole sentence. headline first removes the middle of long names, and then the text after the last
// sentence or clause that fits.
func headline(text string) string {
	text = untrusted.Text(text, maxCondition)
	text = cmp.Or(strings.TrimRight(text, ". "), text)
	runes := []rune(text)
	if len(runes) <= maxLastMessage {
		return text
	}
	words := strings.Split(text, " ")
	for i, word := range words {
		if name := []rune(word); len(name) > longWord {
			words[i] = string(name[:longWord/2]) + "…" + string(name[len(name)-longWord/2+1:])
		}
	}
	if runes = []rune(strings.Join(words, " ")); len(runes) <= maxLastMessage {
		return string(runes)
	}
	return firstClauses(string(runes[:maxLastMessage]))
}

// firstClauses ends a cut text at the end of a sentence or clause.
func firstClauses(text string) string {
	for _, at := range []struct {
		marks []string
		least int // bytes that stay
	}{
		{[]string{". ", "; "}, maxLastMessage / 2}, {[]string{". ", "; ", ", ", ": ", " ("}, maxLastMessage / 6},
	} {
		if end := lastEnd(text, at.marks); end >= at.least {
			return text[:end]
		}
	}
	text = string([]rune(text)[:len([]rune(text))-1]) // room for the ellipsis
	if end := strings.LastIndex(text, " "); end > 0 {
		text = text[:end]
	}
	return text + "…"
}

// lastEnd returns the position of the last mark outside of parentheses and quotations, or -1.
func lastEnd(text string, marks []string) int {
	end := -1
	for _, mark := range marks {
		for at := len(text); at > end; {
			if at = strings.LastIndex(text[:at], mark); at > end && balanced(text[:at]) {
				end = at
			}
		}
	}
	return end
}

// balanced reports whether each parenthesis and quotation in a text is closed.
func balanced(text string) bool {
	return strings.Count(text, "(") == strings.Count(text, ")") && strings.Count(text, `"`)%2 == 0
}
