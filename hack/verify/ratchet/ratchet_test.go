package ratchet

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write creates the files of a small repository.
func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const part = `package part

import (
	"context"
	"time"
)

type Notify func(string)

// Part has fields of all types that matter.
type Part struct {
	Now       func() time.Time
	Changed   func(member string)
	Gone, New func()
	Tell      Notify
	All       []func(int)
	ByName    map[string]func() error
	cancel    context.CancelFunc
	inner     struct{ leave func() }
	name      string
	visit     interface{ Visit(func()) }
}

func rows() { _ = []struct{ do func() }{} }
`

var small = map[string]string{
	"go.mod":              "module example.com/small\n\ngo 1.26\n",
	"cmd/manager/main.go": "package main\n\nimport \"example.com/small/part\"\n\ntype wiring struct {\n\ttell part.Notify\n}\n\nfunc main() { _ = wiring{tell: part.Part{}.Tell} }\n",
	"part/part.go":        part,
	"part/part_test.go":   "package part\n\ntype kit struct{ tests func() }\n",
	"kit/kit.go":          "package kit\n\ntype Kit struct{ Before func() }\n",
}

func TestWhatTheProgramIsLinkedWithIsCounted(t *testing.T) {
	root := t.TempDir()
	write(t, root, small)
	packages, err := linked(t.Context(), root, "./cmd/manager")
	if err != nil {
		t.Fatal(err)
	}
	n, err := measure(packages, map[string]string{"part.Part.leave": "its own"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"part.Part.Changed", "part.Part.Gone", "part.Part.New", "part.Part.Tell", "part.Part.All", "part.Part.ByName", "cmd/manager.wiring.tell"}
	got := make([]string, 0, len(n.Callbacks))
	for _, f := range n.Callbacks {
		got = append(got, f.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the callbacks are %q, want %q", got, want)
	}
	if len(n.NoLinks) != 2 {
		t.Errorf("no links are %v, want the clock and part.Part.leave", n.NoLinks)
	}
	if n.Lines["part"] != strings.Count(part, "\n") || n.Lines["cmd/manager"] != 9 || len(n.Lines) != 2 {
		t.Errorf("the lines are %v: those of tests and of packages that are not linked do not count", n.Lines)
	}
}

func TestANumberAboveItsBoundIsReported(t *testing.T) {
	within := Bounds{
		Callbacks: Bound{Most: 1, Reason: "r"}, Linked: Bound{Most: 150, Reason: "r"}, Package: Bound{Most: 50, Reason: "r"},
		Packages: map[string]Bound{"large": {Most: 100, Reason: "r"}},
		NoLinks:  map[string]string{"large.A.random": "random"},
	}
	numbers := func() Numbers {
		return Numbers{
			Callbacks: []Field{{"large", "A", "Changed", false}}, NoLinks: []Field{{"large", "A", "random", false}},
			Lines: map[string]int{"large": 100, "small": 50},
		}
	}
	if err := errors.Join(exceeded(within, numbers())...); err != nil {
		t.Errorf("numbers at their bounds: %v", err)
	}
	for _, c := range []struct {
		name   string
		change func(*Numbers)
		want   string
	}{
		{"a callback", func(n *Numbers) { n.Callbacks = append(n.Callbacks, Field{"small", "B", "Gone", false}) }, "2 callbacks between parts, at most 1"},
		{"a line", func(n *Numbers) { n.Lines["tiny"] = 1 }, "151 lines linked into the manager, at most 150"},
		{"a package", func(n *Numbers) { n.Lines["small"], n.Lines["large"] = 51, 99 }, "51 lines in small, at most 50"},
		{"a large package", func(n *Numbers) { n.Lines["small"], n.Lines["large"] = 49, 101 }, "101 lines in large, at most 100"},
		{"a deleted package", func(n *Numbers) { delete(n.Lines, "large") }, "bounds package large, which is not linked"},
		{"a deleted field", func(n *Numbers) { n.NoLinks = nil }, "for large.A.random, which is no field"},
	} {
		n := numbers()
		c.change(&n)
		if problems := exceeded(within, n); len(problems) != 1 || !strings.Contains(problems[0].Error(), c.want) {
			t.Errorf("%s: reported is %v, want one problem with %q", c.name, problems, c.want)
		}
	}
}

func TestARaisedBoundNeedsANewReason(t *testing.T) {
	before := Bounds{
		Callbacks: Bound{3, "links of the queue"}, Linked: Bound{100, "first count"}, Package: Bound{50, "a concern"},
		Packages: map[string]Bound{"large": {80, "faults"}},
	}
	for _, c := range []struct {
		name   string
		change func(*Bounds)
		want   string
	}{
		{"nothing", func(*Bounds) {}, ""},
		{"lowered", func(b *Bounds) { b.Linked.Most = 90 }, ""},
		{"raised with a reason", func(b *Bounds) { b.Linked = Bound{110, "a plugin"} }, ""},
		{"raised without one", func(b *Bounds) { b.Linked.Most = 110 }, "linked in " + File + " was raised from 100 to 110"},
		{"a package", func(b *Bounds) { b.Packages = map[string]Bound{"large": {81, "faults"}} }, "large in " + File + " was raised from 80 to 81"},
		{"a package that has grown above the others", func(b *Bounds) { b.Packages = map[string]Bound{"large": {80, "faults"}, "more": {60, "a concern"}} }, "more in " + File + " was raised from 50 to 60"},
		{"no reason", func(b *Bounds) { b.Callbacks = Bound{2, ""} }, "callbacks in " + File + " has no reason"},
		{"a field without a reason", func(b *Bounds) { b.NoLinks = map[string]string{"a.B.c": ""} }, "a.B.c in noLinks of " + File + " has no reason"},
	} {
		now := before
		c.change(&now)
		err := errors.Join(unexplained(&before, now)...)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestBoundsAreComparedWithTheCommitBefore(t *testing.T) {
	root := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	most := func(n string) []byte { return []byte("linked: {most: " + n + ", reason: r}\n") }
	before := func(text []byte) int {
		t.Helper()
		bounds, err := earlier(t.Context(), root, text)
		if err != nil {
			t.Fatal(err)
		}
		if bounds == nil {
			return 0
		}
		return bounds.Linked.Most
	}
	if got := before(most("1")); got != 0 {
		t.Errorf("without history the bound before is %d", got)
	}
	run("init", "-q")
	for _, n := range []string{"1", "2"} {
		write(t, root, map[string]string{File: string(most(n))})
		run("add", ".")
		run("commit", "-q", "-m", n)
	}
	if got := before(most("3")); got != 2 {
		t.Errorf("before a change that is not committed the bound is %d, want 2", got)
	}
	if got := before(most("2")); got != 1 {
		t.Errorf("before the last commit the bound is %d, want 1", got)
	}
}
