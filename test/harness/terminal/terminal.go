// Package terminal simulates a terminal, to test what programs draw on it.
package terminal

import (
	"strconv"
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/term"
)

// Terminal simulates the features that programs of this module use: lines that wrap and scroll, and a cursor. It is not safe for concurrent use.
type Terminal struct {
	term.Size
	lines    [][]rune // including those that scrolled off
	row, col int
}

// New returns an empty terminal.
func New(s term.Size) *Terminal { return &Terminal{Size: s, lines: [][]rune{nil}} }

// Write shows a text with codes.
func (t *Terminal) Write(text string) {
	for text != "" {
		if rest, found := strings.CutPrefix(text, "\x1b["); found {
			end := strings.IndexAny(rest, "AJ")
			switch n, _ := strconv.Atoi(rest[:end]); rest[end] {
			case 'A':
				t.row = max(t.row-n, len(t.lines)-t.Height, 0)
			case 'J':
				t.lines = append(t.lines[:t.row], t.lines[t.row][:min(t.col, len(t.lines[t.row]))])
			}
			text = rest[end+1:]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\n':
			t.row, t.col = t.row+1, 0
		case '\r':
			t.col = 0
		default:
			if t.col == t.Width {
				t.row, t.col = t.row+1, 0
			}
			t.grow()
			t.lines[t.row] = append(t.lines[t.row][:t.col], r)
			t.col++
		}
		t.grow()
	}
}

func (t *Terminal) grow() {
	for t.row >= len(t.lines) {
		t.lines = append(t.lines, nil)
	}
}

// Times returns the number of lines that begin with a text, on the screen and above it.
func (t *Terminal) Times(text string) int {
	n := 0
	for _, line := range t.lines {
		if strings.HasPrefix(strings.TrimSpace(string(line)), text) {
			n++
		}
	}
	return n
}

// Shows reports whether a text is on the screen.
func (t *Terminal) Shows(text string) bool {
	for _, line := range t.lines[max(len(t.lines)-t.Height, 0):] {
		if strings.Contains(string(line), text) {
			return true
		}
	}
	return false
}

// Screen returns the lines on the screen, without those that scrolled off.
func (t *Terminal) Screen() []string {
	shown := t.lines[max(len(t.lines)-t.Height, 0):]
	lines := make([]string, len(shown))
	for i, line := range shown {
		lines[i] = strings.TrimRight(string(line), " ")
	}
	return lines
}
