package docs

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/test/harness/commands"
)

// TestMakeHelpListsEveryTarget asks make itself: users cannot find a target whose name the list does not match.
func TestMakeHelpListsEveryTarget(t *testing.T) {
	targets := regexp.MustCompile(`(?m)^\.PHONY: (.*)$`).FindStringSubmatch(read(t, filepath.Join(root, "Makefile")))
	if targets == nil || len(strings.Fields(targets[1])) < 20 {
		t.Fatalf("the Makefile names its targets differently now: %q", targets)
	}
	command := exec.CommandContext(t.Context(), "make", "--no-print-directory", "help")
	command.Dir = root
	help, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("make help: %v\n%s", err, help)
	}
	for _, target := range strings.Fields(targets[1]) {
		if !regexp.MustCompile(`(?m)^  ` + target + ` +\S`).Match(help) {
			t.Errorf("make help does not list %s:\n%s", target, help)
		}
	}
}

// TestKubeconfigsAreReadWithTheFilesTheyName checks commands that read certificates from a kubeconfig. Many kubeconfigs
// name files instead of the certificates, such as those of minikube and kind, and then the command prints nothing
// without --flatten.
func TestKubeconfigsAreReadWithTheFilesTheyName(t *testing.T) {
	count := 0
	for _, page := range pages(t) {
		for line := range strings.Lines(read(t, page)) {
			if !strings.Contains(line, "kubectl config view") || !strings.Contains(line, "--raw") {
				continue
			}
			count++
			if !strings.Contains(line, "--flatten") {
				t.Errorf("%s lacks --flatten: %s", page, line)
			}
		}
	}
	if count == 0 {
		t.Error("no page reads a kubeconfig any more")
	}
}

// timeOfShell is the part of a command that computes a time.
var timeOfShell = regexp.MustCompile(`\$\(date [^)]*\)`)

// TestTheTimeOfAMessageIsThatOfEachShell checks the command of messages that allow an action: the date of macOS and BSD has no -d. Pages have kubectl vmgroup allow.
func TestTheTimeOfAMessageIsThatOfEachShell(t *testing.T) {
	command := timeOfShell.FindString(allowance.Command("vcenter", "a", "b"))
	if !regexp.MustCompile(`^\$\(date -u -v\+(\d+)M \+%FT%TZ 2>/dev/null \|\| date -u -d \+(\d+)min \+%FT%TZ\)$`).MatchString(command) {
		t.Errorf("%q works with one kind of date only", command)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "echo "+command).Output()
	if err != nil {
		t.Fatal(err)
	}
	until, err := time.Parse(time.RFC3339, strings.TrimSpace(string(out)))
	if counts, _ := allowance.Counts(until, time.Now()); err != nil || !counts {
		t.Errorf("%s is %s, which allows nothing (%v)", command, out, err)
	}
	for _, page := range pages(t) {
		if found := timeOfShell.FindString(read(t, page)); found != "" {
			t.Errorf("%s: %s depends on the system, and kubectl vmgroup allow does not", page, found)
		}
	}
}

// gnuOnly are options and programs that macOS and BSD do not have.
var gnuOnly = regexp.MustCompile(`\bsed -i |\bbase64 -[wd]\b|\breadlink -f\b|\bgrep -[a-zA-Z]*P|\bxargs -[a-z]*r\b|\btimeout [0-9]|\bsort -V\b|\bstat -c\b|\bfind [^|]*-printf\b|` +
	`\btac\b|\becho -e\b|\b(sha256|sha1|md5)sum\b|\bcp -a\b|\bhead -n -|\bnproc\b|\bshuf\b`)

// TestCommandsOfPagesAndMessagesRunOnLinuxAndMacOS checks shell blocks, inline code, the notes of the chart, and the
// sources of messages with commands.
func TestCommandsOfPagesAndMessagesRunOnLinuxAndMacOS(t *testing.T) {
	code, count := regexp.MustCompile("(?s)```(?:sh|bash|console)\n.*?```|`[^`\n]+`"), 0
	for _, page := range append(pages(t), filepath.Join(chart, "templates", "NOTES.txt")) {
		if strings.Contains(page, "/adr/") {
			continue
		}
		text := read(t, page)
		if strings.HasSuffix(page, ".txt") {
			text = "`" + strings.ReplaceAll(strings.ReplaceAll(text, "`", "'"), "\n", " ") + "`"
		}
		for _, block := range code.FindAllString(text, -1) {
			count++
			if found := gnuOnly.FindString(block); found != "" {
				t.Errorf("%s: %q is not on every system: %s", page, found, block)
			}
		}
	}
	for _, directory := range []string{"api", "cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, directory), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !isSource(entry) {
				return err
			}
			text := read(t, path)
			if !strings.Contains(text, "kubectl ") {
				return nil
			}
			count++
			if found := gnuOnly.FindString(text); found != "" {
				t.Errorf("%s: %q is not on every system", path, found)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if count < 1000 {
		t.Errorf("only %d pieces of code were found", count)
	}
}

func isSource(entry fs.DirEntry) bool {
	return !entry.IsDir() && strings.HasSuffix(entry.Name(), ".go") && !strings.HasSuffix(entry.Name(), "_test.go")
}

// TestTheReadmesCommandsHaveTheirVariablesAtTheTop is for editors of the page: test/e2e runs the commands.
func TestTheReadmesCommandsHaveTheirVariablesAtTheTop(t *testing.T) {
	install, err := commands.Read(filepath.Join(root, "README.md"), "## Install")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, name := range install.Variables {
		values[name] = "x"
	}
	script, err := install.Script(values)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", script).CombinedOutput(); err != nil {
		t.Errorf("no shell reads the commands: %v: %s\n%s", err, out, script)
	}
	for _, step := range []string{"make release", "helm install", "kubectl wait"} {
		if !strings.Contains(install.Commands, step) {
			t.Errorf("the commands have no %s:\n%s", step, install.Commands)
		}
	}
}
