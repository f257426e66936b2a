//go:build unix

package main

import (
	"github.com/codeconnect/vmgroup-operator/internal/term"

	"strconv"
	"strings"
)

// terminal simulates the terminal features that the table uses: lines that wrap and scroll, and a cursor.
type terminal struct {
	term.Size
	lines    [][]rune // including those that scrolled off
	row, col int
}

func newTerminal(s term.Size) *terminal { return &terminal{Size: s, lines: [][]rune{nil}} }

func (t *terminal) write(text string) {
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

func (t *terminal) grow() {
	for t.row >= len(t.lines) {
		t.lines = append(t.lines, nil)
	}
}

// times returns the number of lines that begin with a text, on the screen and above it.
func (t *terminal) times(text string) int {
	n := 0
	for _, line := range t.lines {
		if strings.HasPrefix(strings.TrimSpace(string(line)), text) {
			n++
		}
	}
	return n
}

// shows reports whether a text is on the screen.
func (t *terminal) shows(text string) bool {
	for _, line := range t.lines[max(len(t.lines)-t.Height, 0):] {
		if strings.Contains(string(line), text) {
			return true
		}
	}
	return false
}
