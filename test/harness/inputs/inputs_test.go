//go:build e2e

package inputs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
)

// module is a module whose test runs its own program in another process, as the stories run the operator.
type module struct {
	t   *testing.T
	dir string
}

func newModule(t *testing.T) module {
	t.Helper()
	root, err := assets.Root()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	m := module{t: t, dir: t.TempDir()}
	m.write("go.mod", "module example.com/m\n\ngo 1.26\n\nrequire "+assets.Module+" v0.0.0\n\nreplace "+assets.Module+" => "+root+"\n")
	m.write("go.sum", string(sums))
	m.write("config/role.yaml", "kind: Role\n")
	m.write("body/body.go", "package body\n\nfunc Run() {}\n")
	m.write("body/body_test.go", "package body\n")
	m.write("program/main.go", "package main\n\nimport \"example.com/m/body\"\n\nfunc main() { body.Run() }\n")
	m.write("story_test.go", `package m

import (
	"os/exec"
	"testing"

	"`+assets.Module+`/test/harness/inputs"
)

func TestStory(t *testing.T) {
	if err := inputs.Program(t.Context(), ".", "./program"); err != nil {
		t.Fatal(err)
	}
	if err := inputs.Trees("config"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", "-buildvcs=false", "./program").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := exec.Command("grep", "Role", "config/role.yaml").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}
`)
	m.run("list", "-mod=mod", "-deps", "-test", "./...")
	m.age(filepath.Join(m.dir, "go.mod"))
	m.age(filepath.Join(m.dir, "go.sum"))
	return m
}

// write creates a file that is old enough for the go command to trust its time.
func (m module) write(name, content string) {
	m.t.Helper()
	path := filepath.Join(m.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
	m.age(path)
	m.age(filepath.Dir(path))
}

// age sets a separate time in the past for each file.
func (m module) age(path string) {
	m.t.Helper()
	aged = aged.Add(time.Second)
	if err := os.Chtimes(path, aged, aged); err != nil {
		m.t.Fatal(err)
	}
}

var aged = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// test runs the story and returns the output of go test.
func (m module) test() string {
	m.t.Helper()
	out, _ := m.command(append(append([]string{"test"}, progress.Flags()...), ".")...).CombinedOutput()
	return string(out)
}

func (m module) run(args ...string) {
	m.t.Helper()
	if out, err := m.command(args...).CombinedOutput(); err != nil {
		m.t.Fatalf("go %s: %v: %s", args[0], err, out)
	}
}

func (m module) command(args ...string) *exec.Cmd {
	command := exec.CommandContext(m.t.Context(), "go", args...)
	command.Dir, command.Env = m.dir, append(progress.Environ(false), "GOFLAGS=", "GOWORK=off")
	return command
}

func TestAResultIsKeptOnlyWhileWhatTheProgramIsMadeOfStays(t *testing.T) {
	m := newModule(t)
	if said := m.test(); !strings.Contains(said, "ok") {
		t.Fatal(said)
	}
	kept := func(after string) {
		t.Helper()
		if said := m.test(); !strings.Contains(said, "(cached)") {
			t.Fatalf("%s the story runs again: %s", after, said)
		}
	}
	notices := func(what, fault string) {
		t.Helper()
		if said := m.test(); !strings.Contains(said, fault) {
			t.Fatalf("%s goes unnoticed: %s", what, said)
		}
	}
	kept("with nothing changed")

	m.write("body/body.go", "package body\n\nfunc Run() { panic(\"in the body\") }\n")
	notices("a panic in what main calls", "in the body")
	m.write("body/body.go", "package body\n\nfunc Run() {}\n")
	if said := m.test(); !strings.Contains(said, "ok") {
		t.Fatal(said)
	}
	kept("after the panic was taken out")

	m.write("program/main.go", "package main\n\nfunc main() { panic(\"in main\") }\n")
	notices("a panic in main", "in main")
	m.write("program/main.go", "package main\n\nimport \"example.com/m/body\"\n\nfunc main() { body.Run() }\n")
	m.write("body/more.go", "package body\n\nfunc init() { panic(\"in a new file\") }\n")
	notices("a new file", "in a new file")
	if err := os.Remove(filepath.Join(m.dir, "body", "more.go")); err != nil {
		t.Fatal(err)
	}
	m.write("config/role.yaml", "kind: Nothing\n")
	notices("a changed file of another program", "FAIL")
}

func TestTheTestsOfAPackageAreNoPartOfTheProgram(t *testing.T) {
	m := newModule(t)
	if said := m.test(); !strings.Contains(said, "ok") {
		t.Fatal(said)
	}
	path := filepath.Join(m.dir, "body", "body_test.go")
	if err := os.WriteFile(path, []byte("package body\n\nvar _ = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if said := m.test(); !strings.Contains(said, "(cached)") {
		t.Errorf("after an edit of a test the story runs again: %s", said)
	}
}
