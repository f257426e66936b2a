// Package mermaid finds the drawings in the repository's pages, and compares them with the stored list of those that rendered. So
// `make verify` checks without a browser that no drawing changed since the last run of [Command]. Module test/drawings renders them.
package mermaid

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Block is a drawing: a block of code in language mermaid.
type Block struct {
	// Page is relative to the root of the repository. Line is the first line of Source in it.
	Page   string
	Line   int
	Source string
}

// String returns the place of the block, in the form that editors open.
func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Hash identifies the source, wherever it is.
func (b Block) Hash() string {
	sum := sha256.Sum256([]byte(b.Source))
	return hex.EncodeToString(sum[:])
}

// fence matches the first or the last line of a block of code.
var fence = regexp.MustCompile("^([ \t]*)(`{3,}|~{3,})[ \t]*([^` \t]*)[^`]*$")

// Blocks returns the drawings of a page. A block without an end reaches to the end of the page, as in Markdown.
func Blocks(page, text string) (blocks []Block) {
	var open []string // the match of the first line of the current block
	for number, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		match := fence.FindStringSubmatch(line)
		switch {
		case open == nil && match != nil:
			if open = match; strings.EqualFold(match[3], "mermaid") {
				blocks = append(blocks, Block{Page: page, Line: number + 2})
			}
		case open == nil:
		case match != nil && match[3] == "" && strings.HasPrefix(match[2], open[2]):
			open = nil
		case strings.EqualFold(open[3], "mermaid"):
			// Items of lists indent their blocks.
			blocks[len(blocks)-1].Source += strings.TrimPrefix(line, open[1]) + "\n"
		}
	}
	return blocks
}

// Repository returns the drawings of all Markdown files that are committed, or can be.
func Repository(ctx context.Context, root string) (blocks []Block, err error) {
	// git only reads names here, so the owner of the checkout does not matter.
	list := exec.CommandContext(ctx, "git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the pages with git: %w", err)
	}
	seen := map[string]bool{} // files with a conflict are listed more than once
	for page := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(filepath.Join(root, page))
		if errors.Is(err, os.ErrNotExist) || seen[page] {
			continue
		}
		if err != nil {
			return nil, err
		}
		seen[page] = true
		blocks = append(blocks, Blocks(page, string(text))...)
	}
	if len(blocks) == 0 {
		return nil, errors.New("no page has a drawing: the pages were not found")
	}
	return blocks, nil
}
