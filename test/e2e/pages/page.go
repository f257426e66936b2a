package pages

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/test/harness/commands"
)

// Page is how the blocks of a page, or of one of its sections, run. They run in one shell, in the order of the page.
type Page struct {
	// Name of the file below docs.
	Name string
	// Section is a heading of the second level, with its marks. Empty means the whole page.
	Section string
	// Dry sends changes of the cluster as server-side dry runs, where a real change would end what the next pages need. Otherwise all commands run as they are.
	Dry bool
	// Apart runs the page beside the others, in a copy of the repository of its own: it has its own clusters, and waits for them most of the time.
	Apart bool
	// Before are commands that create what the page takes for granted, and After are commands that remove it. They always run as they are.
	Before, After string
	// Names has pairs: an example of the page, and a shell expression with the value in the tests. Each example must be in a block.
	Names []string
	// Files are the names of files whose content a block shows, by the first line of the block.
	Files map[string]string
	// Types are lines that the reader types when a command asks.
	Types []string
	// Shows are patterns that the output of the commands must match.
	Shows []string
}

// Exception is a block that does not run.
type Exception struct {
	// Name of the file below docs.
	Name string
	// First line of the block.
	First string
	// Reason why no test can run it.
	Reason string
}

// Covers reports whether a block of a page belongs to the row.
func (p Page) Covers(page string, block commands.Fenced) bool {
	return p.Name == page && (p.Section == "" || p.Section == block.Heading)
}

// Excepted returns the exception of a block, or nil.
func Excepted(page string, block commands.Fenced) *Exception {
	for i, e := range Exceptions {
		if e.Name == page && e.First == block.First() {
			return &Exceptions[i]
		}
	}
	return nil
}

// Done is the last line of output of a script that ran all blocks.
const Done = "@@ end"

// Script returns the commands of a page as one script for bash. Before each block, it prints a line with @@ and the first line of the block. The directory
// $WRAPPERS has the programs for the blocks.
func (p Page) Script(page string) (string, error) {
	blocks, err := commands.Blocks(page)
	if err != nil {
		return "", err
	}
	used := map[string]bool{}
	script := "set -euo pipefail\n" + p.Before + "\nreal=$PATH; PATH=$WRAPPERS:$PATH\n"
	count := 0
	for _, block := range blocks {
		if !p.Covers(p.Name, block) || Excepted(p.Name, block) != nil {
			continue
		}
		text, err := p.action(block)
		if err != nil {
			return "", fmt.Errorf("block %q: %w", block.First(), err)
		}
		for i := 0; i < len(p.Names); i += 2 {
			if strings.Contains(text, p.Names[i]) {
				used[p.Names[i]] = true
				text = strings.ReplaceAll(text, p.Names[i], p.Names[i+1])
			}
		}
		count++
		script += fmt.Sprintf("printf '@@ %%s\\n' %s\n%s\n", quote(block.First()), text)
	}
	if count == 0 {
		return "", errors.New("no block belongs to this row")
	}
	for i := 0; i < len(p.Names); i += 2 {
		if !used[p.Names[i]] {
			return "", fmt.Errorf("no block has the example %q", p.Names[i])
		}
	}
	return script + "PATH=$real\n" + p.After + "\nprintf '%s\\n' '" + Done + "'\n", nil
}

// action returns the commands for a block.
func (p Page) action(block commands.Fenced) (string, error) {
	file := p.Files[block.First()]
	switch block.Language {
	case "sh":
		return block.Text, nil
	case "console":
		// The other lines are output.
		var run strings.Builder
		for line := range strings.Lines(block.Text) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				run.WriteString(command)
			}
		}
		if run.Len() == 0 {
			return "", errors.New("no line begins with $")
		}
		return run.String(), nil
	case "yaml":
		return manifest(block, file)
	case "text":
		if file == "" {
			return "", errors.New("the row has no name of a file for it")
		}
		return here("cat >"+file, block.Text), nil
	case "ini":
		return ":", checkINI(block.Text)
	default:
		return "", fmt.Errorf("no rule for language %q", block.Language)
	}
}

// manifest applies an object of Kubernetes, and renders the chart with values. The values of an Application of Argo CD are part of that object.
func manifest(block commands.Fenced, file string) (string, error) {
	var object struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Spec       struct {
			Source struct {
				Chart string `json:"chart"`
				Helm  struct {
					ValuesObject map[string]any `json:"valuesObject"`
				} `json:"helm"`
			} `json:"source"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(block.Text), &object); err != nil {
		return "", err
	}
	if object.Kind == "Application" {
		values, err := yaml.Marshal(object.Spec.Source.Helm.ValuesObject)
		if err != nil || len(object.Spec.Source.Helm.ValuesObject) == 0 || object.Spec.Source.Chart == "" {
			return "", fmt.Errorf("the Application has no chart or no values (%w)", err)
		}
		return here("cat >values.yaml", string(values)) + "helm template vmgroup-operator charts/" + object.Spec.Source.Chart + " --values values.yaml >/dev/null", nil
	}
	if object.APIVersion != "" {
		return here("kubectl apply -f -", block.Text), nil
	}
	if file == "" {
		file = "values.yaml"
	}
	return here("cat >"+file, block.Text) + "helm template vmgroup-operator charts/vmgroup-operator --values " + file + " >/dev/null", nil
}

// here gives a text to a command. Only the names of the row are expanded in it.
func here(command, text string) string {
	return command + " <<END_OF_BLOCK\n" + strings.NewReplacer(`\`, `\\`, "$", `\$`, "`", "\\`").Replace(text) + "END_OF_BLOCK\n"
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

var iniLine = regexp.MustCompile(`^([a-z_]+)=(\S+)$`)

// checkINI reads the lines of a configuration file of cloudbase-init: one section, and keys with a value.
func checkINI(text string) error {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] != "[DEFAULT]" || len(lines) < 2 {
		return errors.New("the file does not begin with section DEFAULT and a key")
	}
	var keys []string
	for _, line := range lines[1:] {
		match := iniLine.FindStringSubmatch(line)
		if match == nil || slices.Contains(keys, match[1]) {
			return fmt.Errorf("%q is no new key with a value", line)
		}
		keys = append(keys, match[1])
	}
	return nil
}
