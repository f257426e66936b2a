package main

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// change is one entry of the changelog, in the form of Artifact Hub.
type change struct {
	Kind        string       `json:"kind"`
	Description string       `json:"description"`
	Links       []changeLink `json:"links,omitempty"`
}

type changeLink struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// kinds of changes by the headings of Keep a Changelog.
var kinds = map[string]string{
	"Added": "added", "Changed": "changed", "Deprecated": "deprecated", "Removed": "removed", "Fixed": "fixed", "Security": "security",
}

// section returns the text below the heading of a version in CHANGELOG.md. The heading can have a date.
func section(changelog, version string) (string, error) {
	var text strings.Builder
	found := false
	for line := range strings.Lines(changelog) {
		if heading, is := strings.CutPrefix(line, "## "); is {
			if found {
				break
			}
			name, _, _ := strings.Cut(strings.TrimSpace(heading), " ")
			found = strings.Trim(name, "[]") == version
			continue
		}
		if found {
			text.WriteString(line)
		}
	}
	out := strings.TrimSpace(text.String())
	if !found || out == "" {
		return "", fmt.Errorf("CHANGELOG.md has no text below \"## %s\": write what changes for users, and commit", version)
	}
	return out + "\n", nil
}

// changes returns the entries of a section: each item of a list, below a heading of its kind.
func changes(section, links string) (all []change, err error) {
	kind := ""
	for line := range strings.Lines(section) {
		line = strings.TrimRight(line, "\n ")
		if heading, is := strings.CutPrefix(line, "### "); is {
			if kind = kinds[strings.TrimSpace(heading)]; kind == "" {
				return nil, fmt.Errorf("CHANGELOG.md has the heading %q: choose one of Keep a Changelog", line)
			}
			continue
		}
		item, is := strings.CutPrefix(line, "- ")
		switch {
		case is && kind == "":
			return nil, fmt.Errorf("CHANGELOG.md: %q is below no heading such as ### Added", line)
		case is:
			all = append(all, change{Kind: kind, Description: item})
		case strings.HasPrefix(line, "  ") && len(all) > 0:
			all[len(all)-1].Description += " " + strings.TrimSpace(line)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("CHANGELOG.md: the section of this version has no list of changes")
	}
	for i := range all {
		all[i] = all[i].plain(links)
	}
	return all, nil
}

// plain returns a change without markup, and with its links apart. Artifact Hub shows plain text.
func (c change) plain(links string) change {
	c.Description = markdownLink.ReplaceAllStringFunc(c.Description, func(match string) string {
		parts := markdownLink.FindStringSubmatch(match)
		c.Links = append(c.Links, changeLink{Name: strings.ReplaceAll(parts[1], "`", ""), URL: absolute(parts[2], links)})
		return parts[1]
	})
	c.Description = strings.ReplaceAll(c.Description, "`", "")
	return c
}

var markdownLink = regexp.MustCompile(`\[([^\]]*)\]\(([^)\s]+)\)`)

// notes returns a section whose links work outside of the repository.
func notes(section, links string) string {
	return markdownLink.ReplaceAllStringFunc(section, func(match string) string {
		parts := markdownLink.FindStringSubmatch(match)
		return "[" + parts[1] + "](" + absolute(parts[2], links) + ")"
	})
}

// absolute returns the address of a link in a page at the top of the repository.
func absolute(link, links string) string {
	if strings.Contains(link, "://") {
		return link
	}
	return links + strings.TrimPrefix(link, "./")
}
