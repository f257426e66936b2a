package policy

import (
	"fmt"
	"slices"
	"strings"
)

// maxListed is the number of patterns that a message names, so that it stays readable.
const maxListed = 10

// pattern is a compiled pattern; see [Matches].
type pattern struct {
	text  string
	parts []string // what stands between the stars
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

// templateNames are what a template goes by. As with grants, the way a group spells it does not count once it is found.
type templateNames struct {
	// candidates are the names that the template may have, the last part of what the group wrote first. Of one that was found it is its name.
	// Without any nothing is judged.
	candidates []string
	// found is where it is, once that is known.
	found *foundObject
}

// namesOf returns the names of a template that a group spells like this, and that is at the path resolved if that is known.
func namesOf(given, resolved string) templateNames {
	if resolved == "" {
		return templateNames{candidates: Candidates(given)}
	}
	found := foundAt(resolved)
	return templateNames{candidates: []string{found.name}, found: &found}
}

// match tries a pattern with a slash on the path, too. A member's admission policy does not know paths: were *images* to match a folder too, it would
// refuse for ever what the hub allows.
func (n templateNames) match(p *namePattern, name string) bool {
	if p.path {
		return n.found != nil && (p.matchesName(name) || p.matchesPath(*n.found))
	}
	return p.matchesName(name)
}

// denies returns the first of patterns that matches, if there is one for each name that the template may have.
func (n templateNames) denies(patterns []namePattern) (text string, denied bool) {
	for i, name := range n.candidates {
		first := slices.IndexFunc(patterns, func(p namePattern) bool {
			// What is denied by a path may be at a path that is not known as a whole.
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

// allows says whether one of patterns matches a name that the template may have, or may match once the path is known.
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
