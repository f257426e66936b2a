package assets

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Module is the module path of the repository.
const Module = "github.com/codeconnect/vmgroup-operator"

// Root is the repository's directory: the working directory or its nearest parent with a go.mod that declares [Module]. Tests run in the
// directory of their package, so they find it too.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find the repository: %w", err)
		}
		if slices.Contains(directives(content, "module"), Module) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not inside the repository: no go.mod of module %s in it or above it",
				start, Module)
		}
	}
}

// directives returns the arguments of a go.mod directive, for example "module" or "tool", from single lines and from a block in
// parentheses.
func directives(gomod []byte, name string) []string {
	var arguments []string
	inside := false
	for lines := bufio.NewScanner(bytes.NewReader(gomod)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) == 0:
		case inside && fields[0] == ")":
			inside = false
		case inside && !strings.HasPrefix(fields[0], "//"):
			arguments = append(arguments, strings.Trim(fields[0], `"`))
		case len(fields) >= 2 && fields[0] == name && fields[1] == "(":
			inside = true
		case len(fields) >= 2 && fields[0] == name:
			arguments = append(arguments, strings.Trim(fields[1], `"`))
		}
	}
	return arguments
}

// requirement returns the required version of a module in a go.mod, or "".
func requirement(gomod []byte, module string) string {
	for lines := bufio.NewScanner(bytes.NewReader(gomod)); lines.Scan(); {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "require "))
		if len(fields) >= 2 && fields[0] == module && strings.HasPrefix(fields[1], "v") {
			return fields[1]
		}
	}
	return ""
}
