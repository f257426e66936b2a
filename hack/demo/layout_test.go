//go:build unix

package main

import (
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/test/harness/terminal"

	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// groups returns n rows of the demo, some of them busy.
func groups(n int) []row {
	rows := make([]row, 0, n)
	for i := range n {
		r := row{
			member: "team-a", group: fmt.Sprintf("storm-%d", i), phase: "RUNNING", current: 5, desired: 5, ready: 5,
			vms: "0-4:Ready", message: "successfully reconciled VmGroup",
		}
		if i%4 == 3 {
			r.phase, r.reason, r.vms = "PENDING", "Repairing", "3:Lost 0-2,4:Ready"
			r.message = "4 of 5 VMs are ready; repairing what was changed outside of the operator, as often as it has to be"
		}
		rows = append(rows, r)
	}
	return rows
}

// TestTheTableLeavesOneHeaderOnEveryTerminal redraws the table while groups appear and disappear, as in a step.
func TestTheTableLeavesOneHeaderOnEveryTerminal(t *testing.T) {
	for _, width := range []int{20, 40, 79, 80, 100, 120, 161, 162, 200} {
		for _, height := range []int{3, 5, 10, 24, 60} {
			screen, shown := term.Size{Width: width, Height: height}, term.Screen{}
			shell := terminal.New(screen)
			shell.Write("── 7. Delete a VM\n")
			for _, n := range []int{0, 1, 4, 12, 28, 12, 28, 28, 3} {
				shell.Write(shown.Frame(layout(groups(n), screen), screen))
				if got := shell.Times("MEMBER"); got != 1 {
					t.Fatalf("%d headers on a terminal of %v with %d groups", got, screen, n)
				}
			}
			shell.Write(shown.Frame(layout(groups(28), term.Size{Width: width}), screen))
			if got := shell.Times("MEMBER"); got != 1 {
				t.Errorf("%d headers on a terminal of %v in the end", got, screen)
			}
			if got := shell.Times("team-a"); got != 28 {
				t.Errorf("%d groups on a terminal of %v in the end, want all 28", got, screen)
			}
		}
	}
}

func TestATerminalThatIsMadeNarrowerLosesNoLine(t *testing.T) {
	wide, narrow := term.Size{Width: 120, Height: 24}, term.Size{Width: 60, Height: 24}
	shown, shell := term.Screen{}, terminal.New(narrow) // the state after the previous lines were wrapped again
	shell.Write("── 7. Delete a VM\n" + shown.Frame(layout(groups(4), wide), narrow))
	shell.Write(shown.Frame(layout(groups(4), narrow), narrow))
	if shell.Times("MEMBER") != 1 || shell.Times("── 7.") != 1 {
		t.Errorf("the terminal has %d headers and %d headings", shell.Times("MEMBER"), shell.Times("── 7."))
	}
}

func TestWhatHappensIsSeenOnASmallTerminal(t *testing.T) {
	screen := term.Size{Width: 80, Height: 24}
	rows := groups(60)
	rows[55].vms = "4:Unhealthy 0-3:Ready"
	shell := terminal.New(screen)
	shell.Write(new(term.Screen).Frame(layout(rows, screen), screen))
	for _, want := range []string{"3:Lost", "4:Unhealthy", "Repairing", "… and 39 more groups"} {
		if !shell.Shows(want) {
			t.Errorf("a terminal of %v does not show %q:\n%s", screen, want, strings.Join(layout(rows, screen), "\n"))
		}
	}
}

func TestPaperHasEveryGroupAndNoLineThatATerminalWraps(t *testing.T) {
	lines := layout(groups(60), term.Paper)
	if len(lines) != 61 {
		t.Errorf("%d lines, want a header and 60 groups", len(lines))
	}
	for _, name := range []string{"MEMBER", "GROUP", "PHASE", "READY", "REASON", "VMS"} {
		if !strings.Contains(lines[0], name) {
			t.Errorf("no column %s: %s", name, lines[0])
		}
	}
	if i := slices.IndexFunc(lines, func(line string) bool { return utf8.RuneCountInString(line) >= term.Usual.Width }); i >= 0 {
		t.Errorf("a terminal of %d columns wraps %q", term.Usual.Width, lines[i])
	}
}

func TestVMsAreShownByPhaseWithThoseThatAreReadyLast(t *testing.T) {
	phases := []v1alpha1.VMPhase{v1alpha1.VMReady, v1alpha1.VMReady, v1alpha1.VMReady, v1alpha1.VMLost, v1alpha1.VMReady}
	vms := make([]v1alpha1.VMStatus, 0, len(phases))
	for i, phase := range phases {
		vms = append(vms, v1alpha1.VMStatus{Ordinal: int32(i), Phase: phase})
	}
	if got, want := vmWords(vms), "3:Lost 0-2,4:Ready"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := vmWords(nil); got != "" {
		t.Errorf("no VMs are %q", got)
	}
}
