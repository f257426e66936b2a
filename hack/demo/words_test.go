//go:build unix

package main

import (
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cli"
	"github.com/codeconnect/vmgroup-operator/internal/term"

	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codeconnect/vmgroup-operator/hack/demo/tour"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// longest is a note of about the maximum length: an API server's message for a refusal.
const longest = `A group with 16 CPUs and another template is refused: vmgroups.vm.codeconnect.vmworld.com "greedy" is forbidden: ValidatingAdmissionPolicy ` +
	`'vmgroup-operator-limits' with binding 'vmgroup-operator-limits' denied request: spec.cpu: Invalid value: 16: exceeds the maximum 4 of VmGroupPolicy "teams"`

// written returns the output of a demo to a pipe or a file.
func written(t *testing.T, write func(*demo)) []string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	write(&demo{stack: &stack.Stack{}, out: file, began: time.Now()})
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimRight(string(content), "\n"), "\n")
}

func TestATerminalOf80ColumnsWrapsNoLineOfTheDemo(t *testing.T) {
	for name, write := range map[string]func(*demo){
		"a step": func(d *demo) {
			if err := d.step(t.Context(), step{strings.Repeat("The authority is renewed, under load. ", 4), "kubectl vmgroup status", func(context.Context) error {
				d.note("%s", longest)
				return nil
			}}); err != nil {
				t.Error(err)
			}
		},
		"a sentence":       func(d *demo) { d.say("%s", longest) },
		"a table":          func(d *demo) { newTable(d).draw(layout(groups(30), term.Paper), term.Paper) },
		"what to try next": (*demo).tryNext,
		"a tour":           (*demo).lookAround,
	} {
		t.Run(name, func(t *testing.T) {
			lines := written(t, write)
			if len(lines) < 4 {
				t.Errorf("only %d lines were written: %q", len(lines), lines)
			}
			for _, line := range lines {
				if got := utf8.RuneCountInString(line); got >= term.Usual.Width {
					t.Errorf("%d columns: %s", got, line)
				}
			}
		})
	}
}

func TestTheTourIsPrintedAsItIsTested(t *testing.T) {
	lines := written(t, (*demo).lookAround)
	text := strings.Join(lines, "\n") + "\n"
	all := tour.Commands()
	if len(all) != 10 {
		t.Errorf("the tour has %d commands, want 10", len(all))
	}
	for _, c := range all {
		if !strings.Contains(text, "\n  "+c.Line+" ") {
			t.Errorf("the tour does not print %q:\n%s", c.Line, text)
		}
	}
	// The text and the heading of the table above it fit on one screen.
	if len(lines) > term.Usual.Height-1 {
		t.Errorf("the tour has %d lines, and a terminal %d", len(lines), term.Usual.Height)
	}
}

func TestEachStepShowsACommandThatExists(t *testing.T) {
	d := &demo{}
	for _, s := range append(d.withoutAdmission(), d.withAdmission()...) {
		if !strings.HasPrefix(s.types, "kubectl ") || utf8.RuneCountInString("   $ "+s.types) >= term.Usual.Width {
			t.Errorf("%s: a terminal of %d columns does not show %q", s.name, term.Usual.Width, s.types)
		}
		words := strings.Fields(s.types)[1:]
		if words[0] != "vmgroup" {
			continue
		}
		command, rest, err := cli.New(cli.Options{}).Find(words[1:])
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err != nil || command.HasSubCommands() {
			t.Errorf("%s: %s is no command: %v", s.name, s.types, err)
		}
	}
}

func TestTheLastLinesSayWhatToTryNext(t *testing.T) {
	text := strings.Join(written(t, (*demo).tryNext), "\n")
	for _, want := range []string{"make demo DEMO=stay", "README.md", "docs/explanation/concepts.md"} {
		if !strings.Contains(text, want) {
			t.Errorf("the last lines do not name %s:\n%s", want, text)
		}
	}
}
