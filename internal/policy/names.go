package policy

import (
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
)

// maxLevels is the maximum number of parts of a text for a search of a vCenter name. Users write no more in practice. A longer text is checked after
// the object is found.
const maxLevels = 12

// foundObject is an object of vCenter, with its name and its inventory path.
type foundObject struct {
	name, path, shown string
	// truncated is true if a part of the path is unknown.
	truncated bool
}

func foundAt(path string) foundObject {
	return foundObject{
		name: inventoryname.Base(path), path: inventoryname.Path(path), shown: inventoryname.ShownPath(path), truncated: inventoryname.Truncated(path),
	}
}

// namePattern is a pattern for names and paths of vCenter. Users can write it as the vSphere Client shows them, or as the API has them.
type namePattern struct {
	text string
	// names are its readings as a pattern for names, and paths is its reading as a pattern for paths, split at the stars.
	names [][]string
	paths []string
	// shown is the path as the client shows it, if the pattern has no star.
	shown string
	// anySlash is the pattern as the client shows it, split at the stars.
	anySlash []string
	// path is true if the pattern has a slash: without the vCenter inventory, such a pattern can mean a name or a path.
	path bool
}

func namePatternOf(text string) namePattern {
	p := namePattern{
		text: text, paths: strings.Split(inventoryname.Path(text), "*"), anySlash: strings.Split(inventoryname.ShownPath(text), "*"), path: strings.Contains(text, "/"),
	}
	for _, reading := range inventoryname.Readings(text) {
		p.names = append(p.names, strings.Split(reading, "*"))
	}
	if !strings.Contains(text, "*") {
		p.shown = inventoryname.Fold(text)
	}
	return p
}

func namePatternsOf(texts []string) []namePattern {
	if len(texts) == 0 {
		return nil
	}
	out := make([]namePattern, len(texts))
	for i, text := range texts {
		out[i] = namePatternOf(text)
	}
	return out
}

func textsOfNames(patterns []namePattern) []string {
	out := make([]string, len(patterns))
	for i := range patterns {
		out[i] = patterns[i].text
	}
	return out
}

// matchesName reports whether the pattern matches a folded name as the client shows it.
func (p *namePattern) matchesName(name string) bool {
	for _, parts := range p.names {
		if matchParts(parts, name) {
			return true
		}
	}
	return false
}

// matchesPath distinguishes slashes in names from those between names, unless the pattern is the whole path as the client shows it. A truncated path
// matches no pattern.
func (p *namePattern) matchesPath(o foundObject) bool {
	return !o.truncated && (matchParts(p.paths, o.path) || p.shown != "" && p.shown == o.shown)
}

// deniesPath is matchesPath for a pattern that forbids. A slash in the pattern can separate folders or be a part of a name, so the pattern forbids
// both.
func (p *namePattern) deniesPath(o foundObject) bool {
	return p.matchesPath(o) || matchParts(p.anySlash, o.shown)
}

// Candidates returns the possible names of an object with this text, before the object is looked up. These are the last part, and each end of the
// text that can be a name with slashes. Both are returned as written and as the API has them. A text with too many parts has no candidates. Package
// objects has the same as an expression for members.
func Candidates(text string) []string {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == '/' })
	switch {
	case len(parts) == 0:
		return []string{"/"}
	case len(parts) > maxLevels:
		return nil
	}
	first := 0
	if strings.HasPrefix(text, "/") {
		first = min(2, len(parts)-1) // a datacenter and its VM folder
	}
	var names []string
	for i := len(parts) - 1; i >= first; i-- {
		names = append(names, inventoryname.Fold(strings.Join(parts[i:], "/")))
	}
	if strings.Contains(text, "%") {
		for i := len(parts) - 1; i >= first; i-- {
			names = append(names, inventoryname.Fold(inventoryname.Shown(strings.Join(parts[i:], "/"))))
		}
	}
	return names
}
