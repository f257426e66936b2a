package docs

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
)

// TestMakeHelpListsEveryTarget asks make itself: a target whose name the list does not match is one that nobody finds.
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

// TestKubeconfigsAreReadWithTheFilesTheyName looks at commands that read certificates out of a kubeconfig. Many name files in place of
// the certificates themselves, as those of minikube and kind do, and without --flatten the command prints nothing then.
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

// TestTimesOfCommandsAreThoseOfEachShell looks at the commands of pages and of messages that give a time: the date of macOS and BSD has no -d.
func TestTimesOfCommandsAreThoseOfEachShell(t *testing.T) {
	times := regexp.MustCompile(`\$\(date [^)]*\)`)
	// The time is the one of a message of the operator.
	found := map[string]string{allowance.Command("vcenter", "a", "b"): "a message"}
	for _, page := range pages(t) {
		found[read(t, page)] = page
	}
	count := 0
	for text, where := range found {
		for _, command := range times.FindAllString(strings.ReplaceAll(text, `\|`, "|"), -1) {
			count++
			if !regexp.MustCompile(`^\$\(date -u -v\+(\d+)M \+%FT%TZ 2>/dev/null \|\| date -u -d \+(\d+)min \+%FT%TZ\)$`).MatchString(command) {
				t.Errorf("%s: %s works with one kind of date only", where, command)
			}
			out, err := exec.CommandContext(t.Context(), "sh", "-c", "echo "+command).Output()
			if err != nil {
				t.Fatal(err)
			}
			until, err := time.Parse(time.RFC3339, strings.TrimSpace(string(out)))
			if counts, _ := allowance.Counts(until, time.Now()); err != nil || !counts {
				t.Errorf("%s: %s is %s, which allows nothing (%v)", where, command, out, err)
			}
		}
	}
	if count < 10 {
		t.Errorf("%d commands with a time were found", count)
	}
}
