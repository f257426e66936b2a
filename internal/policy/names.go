package policy

import (
	"strings"

	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
)

// maxLevels is how many parts a text may have in which a name of vCenter is looked for. Nobody writes more; what has more is judged once it was found.
const maxLevels = 12

// foundObject is an object of vCenter, by its name and its inventory path.
type foundObject struct {
	name, path, shown string
	// truncated is true if nobody knows the whole path.
	truncated bool
}

func foundAt(path string) foundObject {
	return foundObject{
		name: inventoryname.Base(path), path: inventoryname.Path(path), shown: inventoryname.ShownPath(path), truncated: inventoryname.Truncated(path),
	}
}

// namePattern is a pattern for names and paths of vCenter. It may be written as the vSphere Client shows them, or as the API has them.
type namePattern struct {
	text string
	// names are its readings as a pattern for names, and paths that as one for paths, split at the stars.
	names [][]string
	paths []string
	// shown is the path that it is as the client shows it, if it has no star.
	shown string
	// anySlash is the pattern as the client shows it, split at the stars.
	anySlash []string
	// path is true if it has a slash: without a look at vCenter nobody knows whether it is one for names or for paths.
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

// matchesName takes a folded name as it is shown.
func (p *namePattern) matchesName(name string) bool {
	for _, parts := range p.names {
		if matchParts(parts, name) {
			return true
		}
	}
	return false
}

// matchesPath tells slashes in names from those between them, unless the whole path is written out as it is shown. A path of which a part is not known matches
// nothing.
func (p *namePattern) matchesPath(o foundObject) bool {
	return !o.truncated && (matchParts(p.paths, o.path) || p.shown != "" && p.shown == o.shown)
}

// deniesPath is matchesPath for a pattern that forbids: nobody can tell which slashes of it part folders and which are in the name of one, so that it forbids both.
func (p *namePattern) deniesPath(o foundObject) bool {
	return p.matchesPath(o) || matchParts(p.anySlash, o.shown)
}

// Candidates returns the names that an object may have which somebody writes like this, before it is looked up: the last part, and each end of the text
// that may be a name with slashes, as it stands and as the API has it. It returns none for a text of which nobody can tell. Package objects has the same as an
// expression for members.
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
		first = min(2, len(parts)-1) // a datacenter and its folder of VMs
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
