package cli

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/term"
	"github.com/codeconnect/vmgroup-operator/test/harness/terminal"
)

// many returns a table of groups.
func many(n int) *metav1.Table {
	listed := make([]listedGroup, 0, n)
	for i := range n {
		g := groupIn("shop", fmt.Sprint("group-", i), v1alpha1.PhasePending, "False/ScalingUp")
		listed = append(listed, listedGroup{VmGroup: &g})
	}
	return groupTable(listed, false, true, false, ages)
}

// TestAWatchLeavesNoLineOfAnEarlierListOnTheTerminal redraws lists that grow, shrink and fail.
func TestAWatchLeavesNoLineOfAnEarlierListOnTheTerminal(t *testing.T) {
	for _, size := range []term.Size{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 30, Height: 5}} {
		screen, shell := term.Screen{}, terminal.New(size)
		shell.Write("$ kubectl vmgroup get -A -w\n")
		for _, n := range []int{1, 4, 60, 12, 0, 60, 3, -1, 3} {
			failure := error(nil)
			if n < 0 {
				n, failure = 0, errors.New("the API server does not answer: "+strings.Repeat("x", 300))
			}
			lines, err := linesOf(groupList(many(n)), failure, size)
			if err != nil {
				t.Fatal(err)
			}
			shell.Write(screen.Frame(lines, size))
			headers, want := shell.Times("NAMESPACE"), 1
			if n == 0 {
				want = 0
			}
			if other := shell.Times("Error") + shell.Times("No VmGroup"); headers != want || other != 1-want {
				t.Errorf("%v: %d headers and %d sentences after a list of %d:\n%s", size, headers, other, n, strings.Join(shell.Screen(), "\n"))
			}
			if got := shell.Times("shop"); got > n || size.Height > 24 && n < 20 && got != n {
				t.Errorf("%v: %d rows of %d", size, got, n)
			}
		}
		if shell.Times("shop") != 3 || shell.Times("$ kubectl") != 1 {
			t.Errorf("%v: at the end the terminal shows\n%s", size, strings.Join(shell.Screen(), "\n"))
		}
	}
}

// TestAWatchedDescriptionReplacesTheOneBefore redraws a group whose VMs and events change.
func TestAWatchedDescriptionReplacesTheOneBefore(t *testing.T) {
	for _, size := range []term.Size{{Width: 80, Height: 24}, {Width: 120, Height: 40}, {Width: 30, Height: 5}} {
		screen, shell := term.Screen{}, terminal.New(size)
		shell.Write("$ kubectl vmgroup describe web -w\n")
		for _, n := range []int{1, 4, 18, 2, 0} {
			g := groupIn("shop", "web", v1alpha1.PhasePending, "False/ScalingUp")
			for i := range int32(n) {
				g.Status.VMs = append(g.Status.VMs, v1alpha1.VMStatus{Name: fmt.Sprint("web-", i), Ordinal: i, Phase: v1alpha1.VMReady})
			}
			is := &description{Options: &Options{Now: func() time.Time { return noon }}, context: "team-a", group: &g}
			lines, err := linesOf(is, nil, size)
			if err != nil {
				t.Fatal(err)
			}
			shell.Write(screen.Frame(lines, size))
			if got := strings.Count(strings.Join(shell.Screen(), "\n"), "✔ ready"); shell.Times("VmGroup shop/web") != 1 || shell.Times("$ kubectl") > 1 || got > n || size.Height > 24 && got != n {
				t.Errorf("%v: %d VMs of %d:\n%s", size, got, n, strings.Join(shell.Screen(), "\n"))
			}
		}
	}
}

func TestAWatchedDescriptionWithoutATerminalIsPrintedAgainAfterChanges(t *testing.T) {
	out := &bytes.Buffer{}
	o, now := &Options{IOStreams: genericiooptions.IOStreams{Out: out}}, noon
	o.Now = func() time.Time { return now }
	l := live{Options: o}
	g := groupIn("shop", "web", v1alpha1.PhasePending, "False/ScalingUp")
	first := &description{Options: o, context: "team-a", group: &g}
	later, changed := *first, *first
	changed.group = g.DeepCopy()
	changed.group.ResourceVersion = "2"
	happened := changed
	happened.events = []corev1.Event{{Reason: "VMsCreated", LastTimestamp: metav1.NewTime(noon)}}
	for i, step := range []struct {
		is    *description
		times int
	}{{first, 1}, {&later, 1}, {&changed, 2}, {&happened, 3}} {
		now = now.Add(time.Minute)
		if err := l.show(step.is, nil); err != nil || strings.Count(out.String(), "VmGroup shop/web") != step.times {
			t.Errorf("step %d: %v\n%s", i, err, out)
		}
	}
}

func TestAWatchWithoutATerminalPrintsRowsThatChange(t *testing.T) {
	out := &bytes.Buffer{}
	l := live{Options: &Options{IOStreams: genericiooptions.IOStreams{Out: out, ErrOut: out}}}
	changed := many(3)
	changed.Rows[1].Cells[3] = "2/2"
	older := many(3)
	for i := range older.Rows {
		older.Rows[i].Cells[columnOf(older, "Since")] = "9d"
	}
	for _, table := range []*metav1.Table{many(3), older, changed, many(0), many(1)} {
		if err := l.show(groupList(table), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.show(nil, errors.New("away\x1b[2J")); err != nil {
		t.Fatal(err)
	}
	compare(t, "watch-no-terminal", out.String())
}
