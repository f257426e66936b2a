package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// block is a declaration of constants with its comment.
type block struct {
	doc       string
	constants []constant
}

// constant is a string constant with the meaning from its comment.
type constant struct{ name, value, meaning string }

// ownName matches the start of a constant's comment: its name, and in some comments the kind to which it belongs.
var ownName = regexp.MustCompile(`^(?:Reason|Condition|Event)\w+(.*)$`)

// constantsOf reads the constants of a file. Each has a comment, above it or at the end of its line.
func constantsOf(file string) ([]block, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var blocks []block
	var problems []error
	for _, decl := range parsed.Decls {
		of, ok := decl.(*ast.GenDecl)
		if !ok || of.Tok != token.CONST {
			continue
		}
		b := block{doc: oneLine(of.Doc.Text())}
		for _, spec := range of.Specs {
			value := spec.(*ast.ValueSpec)
			c := constant{name: value.Names[0].Name}
			if c.value, err = strconv.Unquote(value.Values[0].(*ast.BasicLit).Value); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", file, c.name, err)
			}
			if c.meaning = meaning(value.Doc.Text() + value.Comment.Text()); c.meaning == "" {
				problems = append(problems, fmt.Errorf("%s: %s has no comment with its meaning", file, c.name))
			}
			b.constants = append(b.constants, c)
		}
		blocks = append(blocks, b)
	}
	return blocks, errors.Join(problems...)
}

// meaning returns a comment as a sentence, without the name of its constant.
func meaning(comment string) string {
	text := strings.TrimSuffix(oneLine(comment), ".")
	if head, rest, found := strings.Cut(text, ": "); found {
		if own := ownName.FindStringSubmatch(head); own != nil {
			text = rest
			if kind := strings.Trim(own[1], " ,"); kind != "" {
				text = kind + ": " + rest
			}
		}
	}
	if text == "" || strings.HasPrefix(text, "vCenter") {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func conditionsPage(blocks []block) []byte {
	var b bytes.Buffer
	b.WriteString("# Conditions and their reasons\n\n<!-- " + generated("api/v1alpha1/conditions.go") + " -->\n\n")
	b.WriteString("What to do about a reason is on the page of its kind: [VmGroup](vmgroup.md#status), [VCenter](vcenter.md), " +
		"[MemberCluster](membercluster.md), [VmGroupPolicy](vmgrouppolicy.md#status).\n")
	for _, block := range blocks {
		heading, rest, more := strings.Cut(block.doc, ". ")
		fmt.Fprintf(&b, "\n## %s\n\n", strings.TrimSuffix(heading, "."))
		if more {
			fmt.Fprintf(&b, "%s\n\n", rest)
		}
		table(&b, block.constants)
	}
	return b.Bytes()
}

func eventsPage(blocks []block) []byte {
	var b bytes.Buffer
	b.WriteString("# Events\n\n<!-- " + generated("api/v1alpha1/events.go") + " -->\n\n")
	b.WriteString("A condition that changes its reason is also an event with this reason: see [conditions](conditions.md).\n")
	for _, block := range blocks {
		fmt.Fprintf(&b, "\n## %s\n\n", strings.TrimSuffix(block.doc, "."))
		table(&b, block.constants)
	}
	return b.Bytes()
}

func table(b *bytes.Buffer, constants []constant) {
	b.WriteString("| Name | Meaning |\n| --- | --- |\n")
	for _, c := range constants {
		fmt.Fprintf(b, "| `%s` | %s |\n", c.value, strings.ReplaceAll(c.meaning, "|", `\|`))
	}
}
