package term

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Screen shows lines on a terminal that replace those that it showed before. The zero value has shown nothing.
type Screen struct{ shown []string }

// Frame returns the codes and text that replace the shown lines. size is the present one: the terminal can have been wider before, and lines of that time wrap
// now. Lines must fit, see [Cut].
func (s *Screen) Frame(lines []string, size Size) string {
	var b strings.Builder
	if up := linesOn(s.shown, size.Width); up > 0 {
		fmt.Fprintf(&b, "\r\x1b[%dA\x1b[J", up)
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	s.shown = lines
	return b.String()
}

// linesOn returns how many lines the shown text occupies on a terminal.
func linesOn(shown []string, width int) int {
	lines := 0
	for _, line := range shown {
		lines += max(1, (ansi.StringWidth(line)+max(width, 1)-1)/max(width, 1))
	}
	return lines
}

// Cut shortens lines to the width of a terminal, and leaves out those that do not fit its height. A size of 0 has no limit.
func Cut(lines []string, size Size) []string {
	cut := make([]string, 0, len(lines))
	for i, line := range lines {
		// One line is for the cursor below the text.
		if room := size.Height - 1; size.Height > 0 && len(lines) > room && i >= max(room-1, 0) {
			cut = append(cut, fmt.Sprintf("… and %d more lines", len(lines)-i))
			break
		}
		cut = append(cut, line)
	}
	for i := range cut {
		if size.Width > 0 {
			cut[i] = ansi.Truncate(cut[i], size.Width-1, "…") // a full last column begins a new line on some terminals
		}
	}
	return cut
}
