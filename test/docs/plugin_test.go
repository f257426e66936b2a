package docs

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/internal/plugin/cli"
)

var (
	// pieces are blocks and inline code of a page.
	pieces = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	// pluginCommand ends before a comment, another command, or the end of the code.
	pluginCommand = regexp.MustCompile("(?m)kubectl vmgroup ([^`\n|&;#>]+)")
)

// TestEveryCommandOfThePluginExists parses the commands of pages as the plugin does: only those in blocks of some pages run in test/e2e.
func TestEveryCommandOfThePluginExists(t *testing.T) {
	count := 0
	for _, page := range pages(t) {
		if strings.Contains(filepath.ToSlash(page), "/adr/") {
			continue
		}
		for _, piece := range pieces.FindAllString(read(t, page), -1) {
			for _, match := range pluginCommand.FindAllStringSubmatch(piece, -1) {
				count++
				if err := parsed(strings.Fields(match[1])); err != nil {
					t.Errorf("%s: kubectl vmgroup %s: %v", page, match[1], err)
				}
			}
		}
	}
	if count < 80 {
		t.Errorf("only %d commands were found", count)
	}
}

// parsed reads a command with its flags. Arguments are not checked: prose names commands without them.
func parsed(words []string) error {
	root := cli.New(cli.Options{})
	command, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if command.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("there is no subcommand %s", rest[0])
	}
	return command.ParseFlags(rest)
}

func TestACommandThatThePluginDoesNotHaveIsFound(t *testing.T) {
	for command, want := range map[string]bool{
		"allow adoption --member NAME --for 30m": true, "confirm vmgroup -n shop -l app=web": true, "keep": true,
		"allow everything --member NAME": false, "permit adoption": false, "allow adoption --members NAME": false, "allow adoption --for tomorrow": false,
	} {
		if err := parsed(strings.Fields(command)); (err == nil) != want {
			t.Errorf("%s: %v", command, err)
		}
	}
}

// TestEveryAnnotationOfAPersonIsInTheTable compares the table with the constants of the API.
func TestEveryAnnotationOfAPersonIsInTheTable(t *testing.T) {
	constant, row := regexp.MustCompile(`\w+Annotation += "vm\.codeconnect\.vmworld\.com/([a-z-]+)"`), regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|")
	want, got := map[string]bool{}, map[string]bool{}
	for _, file := range filesIn(t, filepath.Join(root, "api", "v1alpha1"), ".go") {
		for _, match := range constant.FindAllStringSubmatch(read(t, file), -1) {
			want[match[1]] = true
		}
	}
	for _, match := range row.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", "reference", "annotations.md")), -1) {
		got[match[1]] = true
	}
	if len(want) < 10 || !maps.Equal(got, want) {
		t.Errorf("docs/reference/annotations.md has rows for %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// TestPagesSetAnnotationsWithThePlugin: kubectl annotate needs values that a reader has to find, and does not check which object it changes.
func TestPagesSetAnnotationsWithThePlugin(t *testing.T) {
	annotate := regexp.MustCompile(`kubectl [^\n]*\bannotate [^\n]*vm\.codeconnect\.vmworld\.com/([a-z-]+)`)
	for _, page := range pages(t) {
		name := filepath.ToSlash(page)
		// The console block of explanation/deletion.md is a message of the API server.
		if strings.Contains(name, "/adr/") || strings.HasSuffix(name, "explanation/deletion.md") {
			continue
		}
		for _, match := range annotate.FindAllStringSubmatch(read(t, page), -1) {
			if match[1] != "vcenter-hosts" {
				t.Errorf("%s: %s: use the verb of kubectl vmgroup", page, match[0])
			}
		}
	}
}
