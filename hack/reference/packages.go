package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// packagesPage lists the packages of the product with the first sentence of each doc comment: what the package does, and its rule.
func packagesPage(ctx context.Context, root string) ([]byte, error) {
	command := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Doc,Module", "./api/...", "./cmd/...", "./internal/...")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var page bytes.Buffer
	fmt.Fprintf(&page, "# Packages\n\n<!-- %s -->\n\nThe packages of the operator, of its test kits below `internal`, and of its API, with the first sentence of each package's documentation.\n"+
		"[The map](../explanation/architecture.md) shows how they work together.\n\n| Package | What it does |\n| --- | --- |\n", generated("the doc comments of packages"))
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath, Doc string
			Module          struct{ Path string }
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return page.Bytes(), nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		name := strings.TrimPrefix(p.ImportPath, p.Module.Path+"/")
		if p.Doc == "" {
			return nil, fmt.Errorf("package %s has no doc comment", name)
		}
		fmt.Fprintf(&page, "| `%s` | %s |\n", name, summary(p.Doc))
	}
}

// summary is a doc comment's first sentence without the words that begin each of them.
func summary(doc string) string {
	words := strings.Fields(strings.ReplaceAll(doc, "|", `\|`))
	if len(words) > 2 && (words[0] == "Package" || words[0] == "Command") {
		words = words[2:]
	}
	return strings.Join(words, " ")
}
