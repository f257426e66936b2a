//go:build unix

package main

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	indent = "   "
	gap    = 2
	// widestVMs and widestMessage are what the two long columns have where there is room enough.
	widestVMs, widestMessage = 56, 60
)

// column is a column of the table as it is laid out.
type column struct {
	name  string
	cells []string
	width int
}

// layout writes rows as lines that are no wider than the terminal, and no more of them than it has. A zero size has no bounds.
func layout(rows []row, s size) []string {
	shown, more := rows, ""
	// The line below the table is where the cursor is; two more are the heading and what is left out.
	if room := s.height - 1; s.height > 0 && len(rows) > room-1 {
		shown = choose(rows, max(room-2, 0))
		more = fmt.Sprintf("%s… and %d more groups", indent, len(rows)-len(shown))
	}
	lines := fit(columns(shown), s.width)
	if more != "" {
		lines = append(lines, more)
	}
	if s.width > 0 {
		for i := range lines {
			lines[i] = shorten(lines[i], s.width-1) // a full last column would begin a new line on some terminals
		}
	}
	if s.height > 0 {
		lines = lines[:min(len(lines), max(s.height-1, 1))]
	}
	return lines
}

// choose takes n rows, those where something happens first, and leaves them in their order.
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

// sacrifice is a column that gives way on a narrow terminal: down to a width, or, with 0, altogether.
type sacrifice struct {
	name  string
	least int
}

// sacrifices come in this order. What a VM is doing stays longer than the sentence about it, which a status keeps.
var sacrifices = []sacrifice{
	{"LAST_MESSAGE", 24}, {"CURRENT", 0}, {"DESIRED", 0}, {"LAST_MESSAGE", 0}, {"VMS", 16}, {"READY", 0}, {"REASON", 9}, {"GROUP", 8}, {"VMS", 0},
}

// fit makes lines of columns, without what a terminal of that width has no room for.
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

// linesOn is how many lines of a terminal text takes that may have been drawn when it was wider.
func linesOn(drawn []string, width int) int {
	lines := 0
	for _, line := range drawn {
		lines += max(1, (utf8.RuneCountInString(line)+max(width, 1)-1)/max(width, 1))
	}
	return lines
}
