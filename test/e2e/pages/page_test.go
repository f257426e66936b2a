package pages

import (
	"os/exec"
	"strings"
	"testing"
)

const page = "# Page\n\n```yaml\napiVersion: v1\nkind: $HOME\n```\n\n## One\n\n```sh\necho \"EXAMPLE\"\n```\n\n```console\n$ echo two\ntwo\n```\n\n## Two\n\n```text\nit's $x `y`\n```\n"

func TestAScriptRunsTheBlocksOfItsSection(t *testing.T) {
	row := Page{Name: "p.md", Section: "## One", Before: "value=three", Names: []string{"EXAMPLE", "$value"}, After: "echo after"}
	if out := run(t, row); out != "@@ echo \"EXAMPLE\"\nthree\n@@ $ echo two\ntwo\nafter\n"+Done+"\n" {
		t.Errorf("the script prints %q", out)
	}
	row = Page{Name: "p.md", Section: "## Two", Files: map[string]string{"it's $x `y`": "file"}, After: "cat file; rm file"}
	if out := run(t, row); out != "@@ it's $x `y`\nit's $x `y`\n"+Done+"\n" {
		t.Errorf("the script prints %q", out)
	}
}

func run(t *testing.T, row Page) string {
	t.Helper()
	script, err := row.Script(page)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "bash", "-c", script)
	command.Dir, command.Env = t.TempDir(), append(command.Environ(), "WRAPPERS=/nowhere")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

func TestARowThatDoesNotFitItsPageIsRefused(t *testing.T) {
	for name, row := range map[string]Page{
		"an example that no block has": {Name: "p.md", Section: "## One", Names: []string{"OTHER", "1"}},
		"a section without blocks":     {Name: "p.md", Section: "## Three"},
		"a text without a file":        {Name: "p.md", Section: "## Two"},
	} {
		if script, err := row.Script(page); err == nil {
			t.Errorf("%s: %s", name, script)
		}
	}
	for _, text := range []string{"a=b\n", "[DEFAULT]\n", "[DEFAULT]\na=1\na=2\n", "[DEFAULT]\na = 1\n"} {
		if checkINI(text) == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, block := range []string{"```bat\ndir\n```\n", "```console\nout\n```\n", "```yaml\na: [\n```\n", "```yaml\nkind: Application\n```\n"} {
		if script, err := (Page{Name: "p.md"}).Script(block); err == nil || strings.Contains(script, "@@") {
			t.Errorf("%q is accepted: %s", block, script)
		}
	}
}
