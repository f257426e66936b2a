//go:build unix

package main

import (
	"github.com/codeconnect/vmgroup-operator/internal/term"

	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	indent = "   "
	gap    = 2
	// widestVMs and widestMessage are the widths of the two long columns on a wide terminal.
	widestVMs, widestMessage = 56, 60
)

// column is a column of the table with its width.
type column struct {
	name  string
	cells []string
	width int
}

// layout returns rows as lines that fit the terminal's width and height. A zero size has no limit.
func layout(rows []row, s term.Size) []string {
	shown, more := rows, ""
	// One line is for the cursor below the table, one for the heading, and one for the number of omitted groups.
	if room := s.Height - 1; s.Height > 0 && len(rows) > room-1 {
		shown = choose(rows, max(room-2, 0))
		more = fmt.Sprintf("%s… and %d more groups", indent, len(rows)-len(shown))
	}
	lines := fit(columns(shown), s.Width)
	if more != "" {
		lines = append(lines, more)
	}
	if s.Width > 0 {
		for i := range lines {
			lines[i] = shorten(lines[i], s.Width-1) // a full last column would begin a new line on some terminals
		}
	}
	if s.Height > 0 {
		lines = lines[:min(len(lines), max(s.Height-1, 1))]
	}
	return lines
}

// choose returns n rows in their order. It prefers rows with activity.
func choose(rows []row, n int) []row {
	idle := n
	for _, r := range rows {
		if r.busy() {
			idle--
		}
	}
	var chosen []row
	for _, r := range rows {
		if !r.busy() {
			if idle <= 0 {
				continue
			}
			idle--
		}
		if len(chosen) < n {
			chosen = append(chosen, r)
		}
	}
	return chosen
}

func columns(rows []row) []column {
	all := []column{
		{name: "MEMBER"}, {name: "GROUP"}, {name: "PHASE"}, {name: "CURRENT"}, {name: "DESIRED"}, {name: "READY"}, {name: "REASON"},
		{name: "VMS"}, {name: "LAST_MESSAGE"},
	}
	for _, r := range rows {
		for i, cell := range []string{
			r.member, r.group, r.phase, number(r.current), number(r.desired), number(r.ready), r.reason,
			shorten(r.vms, widestVMs), shorten(r.message, widestMessage),
		} {
			all[i].cells = append(all[i].cells, cell)
		}
	}
	for i := range all {
		all[i].width = utf8.RuneCountInString(all[i].name)
		for _, cell := range all[i].cells {
			all[i].width = max(all[i].width, utf8.RuneCountInString(cell))
		}
	}
	return all
}

func number(n int32) string { return strconv.Itoa(int(n)) }

// sacrifice narrows a column on a narrow terminal to least, or removes it if least is 0.
type sacrifice struct {
	name  string
	least int
}

// sacrifices are in the order of their use. The phase of a VM stays longer than the message, because status keeps the message.
var sacrifices = []sacrifice{
	{"LAST_MESSAGE", 24}, {"CURRENT", 0}, {"DESIRED", 0}, {"LAST_MESSAGE", 0}, {"VMS", 16}, {"READY", 0}, {"REASON", 9}, {"GROUP", 8}, {"VMS", 0},
}

// fit returns the lines of the columns. It omits the parts that do not fit the width.
func fit(all []column, width int) []string {
	for _, s := range sacrifices {
		over := widthOf(all) + 1 - width
		if width <= 0 || over <= 0 {
			break
		}
		for i := range all {
			if all[i].name != s.name {
				continue
			}
			if s.least == 0 {
				all = append(all[:i:i], all[i+1:]...)
				break
			}
			all[i].width = max(all[i].width-over, min(s.least, all[i].width))
		}
	}
	var lines []string
	for n := -1; n < len(all[0].cells); n++ {
		var line strings.Builder
		line.WriteString(indent)
		for _, c := range all {
			cell := c.name
			if n >= 0 {
				cell = c.cells[n]
			}
			cell = shorten(cell, c.width)
			line.WriteString(cell + strings.Repeat(" ", c.width-utf8.RuneCountInString(cell)+gap))
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

func widthOf(all []column) int {
	width := len(indent) - gap
	for _, c := range all {
		width += c.width + gap
	}
	return width
}
