// Package term prints for people: symbols with and without color, and lines that fit a terminal.
package term

import (
	"os"

	"charm.land/lipgloss/v2"
)

// Mark is the symbol in front of a line. It has the same meaning with and without color.
type Mark int

// Marks.
const (
	// OK: everything is as it should be.
	OK Mark = iota
	// Warn: it works, and a person should check it.
	Warn
	// Bad: it does not work.
	Bad
	// Note: a fact that is neither good nor bad.
	Note
	// Unknown: the state could not be read.
	Unknown
)

var (
	symbols = [...]string{OK: "✔", Warn: "!", Bad: "✗", Note: "·", Unknown: "?"}
	ascii   = [...]string{OK: "+", Warn: "!", Bad: "x", Note: "-", Unknown: "?"}
	colors  = [...]string{OK: "2", Warn: "3", Bad: "1", Note: "8", Unknown: "5"}
)

// Style is how text is shown.
type Style struct {
	// Color is true on a terminal, unless NO_COLOR is set (https://no-color.org).
	Color bool
	// ASCII replaces symbols by ASCII characters.
	ASCII bool
}

// StyleOf returns the style of a file.
func StyleOf(file *os.File, ascii bool) Style {
	_, terminal := SizeOf(file)
	return Style{Color: terminal && os.Getenv("NO_COLOR") == "", ASCII: ascii}
}

// Mark returns a symbol.
func (s Style) Mark(m Mark) string {
	if s.ASCII {
		return s.paint(m, ascii[m])
	}
	return s.paint(m, symbols[m])
}

func (s Style) paint(m Mark, text string) string {
	if !s.Color {
		return text
	}
	return lipgloss.NewStyle().Foreground(lipgloss.Color(colors[m])).Render(text)
}
