package commands

import (
	"fmt"
	"regexp"
	"strings"
)

// Fenced is a code block of a page.
type Fenced struct {
	// Language is the word after the fence, such as sh.
	Language string
	// Text has no indentation of a list.
	Text string
	// Heading is the last heading of the second level above the block, with its marks, or "".
	Heading string
}

// First returns the first line of a block.
func (f Fenced) First() string {
	first, _, _ := strings.Cut(f.Text, "\n")
	return first
}

var fence = regexp.MustCompile("^( *)```(.*)$")

// Blocks returns the code blocks of a page in order.
func Blocks(page string) ([]Fenced, error) {
	var all []Fenced
	var open *Fenced
	heading, indent, number := "", "", 0
	for line := range strings.Lines(page) {
		number++
		line = strings.TrimRight(line, "\r\n")
		match := fence.FindStringSubmatch(line)
		switch {
		case open == nil && match != nil:
			open, indent = &Fenced{Language: strings.TrimSpace(match[2]), Heading: heading}, match[1]
		case open == nil && strings.HasPrefix(line, "## "):
			heading = line
		case open == nil:
		case match != nil && match[2] == "":
			all, open = append(all, *open), nil
		default:
			text, inside := strings.CutPrefix(line, indent)
			if !inside && strings.TrimSpace(line) != "" {
				return nil, fmt.Errorf("line %d is indented less than its block", number)
			}
			open.Text += text + "\n"
		}
	}
	if open != nil {
		return nil, fmt.Errorf("the block that begins with %q has no end", open.First())
	}
	return all, nil
}
