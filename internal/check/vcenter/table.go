package vcenter

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

const (
	// levelWidth and stepWidth are the widths of the first two columns, including the space after them.
	levelWidth, stepWidth = 6, 12
	// leastColumns is the least width of the table. mostText is the limit of the text in a cell, in bytes.
	leastColumns, mostText = 40, 4096
	// goesOn joins the lines of a command.
	goesOn = ` \`
)

// Print writes the table. It is at most columns wide, unless a word is longer. Users can copy a command, because
// backslashes join its lines.
func Print(out io.Writer, found []Finding, columns int) error {
	width := max(columns, leastColumns) - levelWidth - stepWidth
	var b strings.Builder
	for _, f := range found {
		head := padded(f.Level.String(), levelWidth) + padded(string(f.Step), stepWidth)
		indent := strings.Repeat(" ", levelWidth+stepWidth)
		for i, line := range wrapped(untrusted.Text(f.Says, mostText), width) {
			if i == 0 {
				b.WriteString(head + line + "\n")
			} else {
				b.WriteString(indent + line + "\n")
			}
		}
		fix := untrusted.Text(f.Fix, mostText)
		if len(f.Command) == 0 && strings.HasSuffix(fix, ":") {
			fix = strings.TrimSuffix(fix, ":") + "." // the command has a name that a shell would misread
		}
		for i, line := range wrapped(fix, width-3) {
			mark := "   "
			if i == 0 {
				mark = "-> "
			}
			b.WriteString(indent + mark + line + "\n")
		}
		for i, line := range continued(f.Command, width-3) {
			mark := "   "
			if i > 0 {
				mark = "     "
			}
			b.WriteString(indent + mark + line + "\n")
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func padded(s string, width int) string {
	return s + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(s)))
}

// wrapped breaks a text between words. It returns no line for an empty text.
func wrapped(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// continued breaks a command between its words.
func continued(words []string, width int) (lines []string) {
	line := ""
	for i, word := range words {
		room := width
		if i < len(words)-1 {
			room -= len(goesOn)
		}
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= room-2:
			line += " " + word
		default:
			lines = append(lines, line+goesOn)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
