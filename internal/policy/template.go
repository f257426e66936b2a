package policy

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is the maximum number of patterns in a message, so that it stays readable.
const maxListed = 10

// pattern is a compiled pattern; see [Matches].
type pattern struct {
	text  string
	parts []string // the parts between the stars
}

func patternsOf(texts []string) []pattern {
	if len(texts) == 0 {
		return nil
	}
	out := make([]pattern, len(texts))
	for i, text := range texts {
		out[i] = pattern{text: text, parts: strings.Split(text, "*")}
	}
	return out
}

func textsOf(patterns []pattern) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = p.text
	}
	return out
}

func anyMatches(patterns []pattern, s string) bool {
	for i := range patterns {
		if matchParts(patterns[i].parts, s) {
			return true
		}
	}
	return false
}

// templateNames are the possible names of a template. As with grants, the spelling in a group does not count once the template is found.
type templateNames struct {
	// candidates are the possible names of the template, the last part of the text in the group first. If the template was found, it is its name.
	// Without candidates, no pattern is checked.
	candidates []string
	// found is the location of the template, if it is known.
	found *foundObject
}

// namesOf returns the names of a template with this text in a group. resolved is the path of the template, or "" if it is unknown.
func namesOf(given, resolved string) templateNames {
	if resolved == "" {
		return templateNames{candidates: Candidates(given)}
	}
	found := foundAt(resolved)
	return templateNames{candidates: []string{found.name}, found: &found}
}

// match also tries a pattern with a slash on the path. A member's admission policy does not know paths. If *images* also matched a folder, the member
// would always refuse groups that the hub allows.
func (n templateNames) match(p *namePattern, name string) bool {
	if p.path {
		return n.found != nil && (p.matchesName(name) || p.matchesPath(*n.found))
	}
	return p.matchesName(name)
}

// denies returns the first matching pattern, if a pattern matches each possible name of the template.
func (n templateNames) denies(patterns []namePattern) (text string, denied bool) {
	for i, name := range n.candidates {
		first := slices.IndexFunc(patterns, func(p namePattern) bool {
			// A template with a truncated path can lie at a denied path.
			return n.match(&p, name) || p.path && n.found != nil && (n.found.truncated || p.deniesPath(*n.found))
		})
		if first < 0 {
			return "", false
		}
		if i == 0 {
			text = patterns[first].text
		}
	}
	return text, len(n.candidates) > 0
}

// allows reports whether a pattern matches a possible name of the template, or can match once the path is known.
func (n templateNames) allows(patterns []namePattern) bool {
	for i := range patterns {
		p := &patterns[i]
		if p.path && n.found == nil || slices.ContainsFunc(n.candidates, func(name string) bool { return n.match(p, name) }) {
			return true
		}
	}
	return len(patterns) == 0 || len(n.candidates) == 0
}

func list(patterns []string) string {
	if more := len(patterns) - maxListed; more > 0 {
		return strings.Join(patterns[:maxListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(patterns, ", ")
}
