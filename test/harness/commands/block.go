package commands

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Block is a block of shell commands: variables that the reader sets, a blank line, and commands that use them.
type Block struct {
	// Variables are the names that the first lines assign, in order.
	Variables []string
	// Commands are the lines below, as on the page.
	Commands string
}

// assignment is a variable with a one-word value, which can be quoted or empty.
var assignment = regexp.MustCompile(`^([A-Z][A-Z0-9_]*)=('[^']*'|"[^"]*"|[^\s'"#;&|$]*)(?:\s+|$)`)

// Read returns the first block of shell commands below a heading of a page.
func Read(page, heading string) (Block, error) {
	content, err := os.ReadFile(page)
	if err != nil {
		return Block{}, err
	}
	block, err := find(string(content), heading)
	if err != nil {
		return Block{}, fmt.Errorf("%s: %w", page, err)
	}
	return block, nil
}

func find(page, heading string) (Block, error) {
	_, section, found := strings.Cut(page, "\n"+heading+"\n")
	if !found {
		return Block{}, fmt.Errorf("there is no heading %q", heading)
	}
	if end := regexp.MustCompile(`(?m)^#{1,` + fmt.Sprint(strings.Count(heading, "#")) + `} `).FindStringIndex(withoutComments(section)); end != nil {
		section = section[:end[0]]
	}
	_, rest, found := strings.Cut(section, "```sh\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		return Block{}, fmt.Errorf("below %q there is no block of shell commands", heading)
	}
	return parse(text)
}

// withoutComments hides shell comments, which have the form of headings, and keeps all offsets.
func withoutComments(section string) string {
	return regexp.MustCompile("(?s)```.*?```").ReplaceAllStringFunc(section, func(block string) string {
		return strings.ReplaceAll(block, "#", " ")
	})
}

func parse(text string) (Block, error) {
	top, below, found := strings.Cut(text, "\n\n")
	if !found || strings.TrimSpace(below) == "" {
		return Block{}, errors.New("no blank line parts the variables from the commands")
	}
	b := Block{Commands: below}
	for line := range strings.Lines(top) {
		for rest := strings.TrimSpace(line); rest != "" && !strings.HasPrefix(rest, "#"); {
			match := assignment.FindStringSubmatch(rest)
			if match == nil {
				return Block{}, fmt.Errorf("among the variables at the top is %q", rest)
			}
			b.Variables, rest = append(b.Variables, match[1]), rest[len(match[0]):]
		}
	}
	for _, name := range b.Variables {
		if !regexp.MustCompile(`\$\{?` + name + `\b`).MatchString(below) {
			return Block{}, fmt.Errorf("no command uses the variable %s", name)
		}
	}
	return b, nil
}

// Script returns the commands with other values for the variables. values must have exactly these variables, so that nothing else changes.
func (b Block) Script(values map[string]string) (string, error) {
	given, wanted := slices.Sorted(maps.Keys(values)), slices.Sorted(slices.Values(b.Variables))
	if !slices.Equal(given, wanted) {
		return "", fmt.Errorf("the commands have the variables %s, and values were given for %s", strings.Join(wanted, ", "), strings.Join(given, ", "))
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	for _, name := range b.Variables {
		fmt.Fprintf(&script, "%s='%s'\n", name, strings.ReplaceAll(values[name], "'", `'\''`))
	}
	script.WriteString(b.Commands)
	return script.String(), nil
}
