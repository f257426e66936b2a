package commands

import (
	"os/exec"
	"strings"
	"testing"
)

const page = "# Product\n\n```sh\nunrelated\n```\n\n## Install\n\nText.\n\n```sh\n# yours\nHOST=a.example.com   # where\nUSER_NAME='me too' PASS=\"…\" PIN=\n\n" +
	"# not a heading\nprintf '%s|' \"$HOST\" \"$USER_NAME\" \"$PASS\" \"$PIN\"\n```\n\n## More\n\n```sh\nA=1\n\necho $A\n```\n"

func TestCommandsRunWithOtherValuesAndNothingElseChanged(t *testing.T) {
	block, err := find(page, "## Install")
	if err != nil {
		t.Fatal(err)
	}
	script, err := block.Script(map[string]string{"HOST": "b", "USER_NAME": "it's $HOME", "PASS": "`x`", "PIN": ""})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", script).CombinedOutput()
	if want := "b|it's $HOME|`x`||"; err != nil || string(out) != want {
		t.Errorf("the script prints %q (%v), want %q:\n%s", out, err, want, script)
	}
	if !strings.HasSuffix(script, block.Commands) {
		t.Errorf("the commands were changed:\n%s", script)
	}
	if script, err := block.Script(map[string]string{"HOST": "b"}); err == nil {
		t.Errorf("values are missing, and the script is\n%s", script)
	}
}

func TestABlockThatHasMoreAtItsTopThanVariablesIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"a command":                    "A=1\necho $A\n\necho $A\n",
		"a command after a variable":   "A=1; echo\n\necho $A\n",
		"a substitution":               "A=$(date)\n\necho $A\n",
		"no blank line":                "A=1\n",
		"a variable that nothing uses": "A=1 B=2\n\necho $A\n",
	} {
		if block, err := parse(text); err == nil {
			t.Errorf("%s: %+v", name, block)
		}
	}
	if _, err := find(page, "## Nowhere"); err == nil {
		t.Error("a heading that does not exist has commands")
	}
	if _, err := find("# A\n## Empty\n\n## B\n```sh\nA=1\n\necho $A\n```\n", "## Empty"); err == nil {
		t.Error("a section takes the commands of the next")
	}
}
