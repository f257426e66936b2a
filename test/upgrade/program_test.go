package upgrade

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestACommitThatIsNotInTheCloneIsSaidWithWhatToDo(t *testing.T) {
	root := t.TempDir()
	if said, err := exec.CommandContext(t.Context(), "git", "init", "--quiet", root).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if _, _, err := Program(t.Context(), root, "0123abcd", t.TempDir(), t.Output()); err == nil || !strings.Contains(err.Error(), `no commit "0123abcd"`) ||
		!strings.Contains(err.Error(), "git fetch --unshallow") {
		t.Errorf("got %v", err)
	}
	if _, _, err := Program(t.Context(), root, "", t.TempDir(), t.Output()); !errors.Is(err, errNoCommit) {
		t.Errorf("got %v", err)
	}
}
