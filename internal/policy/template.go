package policy

import (
	"fmt"
	"path"
	"strings"
)

// maxListed is the number of patterns that a message names, so that it stays readable.
const maxListed = 10

// pattern is a compiled pattern; see [Matches].
type pattern struct {
	text  string
	parts []string // what stands between the stars
	// path is true for a pattern that only an inventory path can answer.
	path bool
}

func patternsOf(texts []string) []pattern {
	if len(texts) == 0 {
		return nil
	}
	out := make([]pattern, len(texts))
	for i, text := range texts {
		out[i] = pattern{text: text, parts: strings.Split(text, "*"), path: strings.Contains(text, "/")}
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

// templateNames are what a template goes by: the last element of its inventory path, and the whole path where it is
// known. As with grants, the way a group spells it does not count once the path is known.
type templateNames struct {
	base, path string
}

func namesOf(given, resolved string) templateNames {
	if resolved != "" {
		return templateNames{base: path.Base(resolved), path: resolved}
	}
	return templateNames{base: path.Base(given)}
}

// match tries a pattern with a slash on the path, and any other on the name. A member's admission policy does not know
// paths: were *images* to match a folder too, it would refuse for ever what the hub allows.
func (n templateNames) match(p pattern) bool {
	if p.path {
		return n.path != "" && matchParts(p.parts, n.path)
	}
	return matchParts(p.parts, n.base)
}

// denies returns the first of patterns that matches.
func (n templateNames) denies(patterns []pattern) (string, bool) {
	for _, p := range patterns {
		if n.match(p) {
			return p.text, true
		}
	}
	return "", false
}

// allows says whether one of patterns matches, or may match once the path is known.
func (n templateNames) allows(patterns []pattern) bool {
	for _, p := range patterns {
		if n.match(p) || p.path && n.path == "" {
			return true
		}
	}
	return len(patterns) == 0
}

func list(patterns []string) string {
	if more := len(patterns) - maxListed; more > 0 {
		return strings.Join(patterns[:maxListed], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(patterns, ", ")
}
