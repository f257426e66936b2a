package machine

import (
	"os"
	"strings"
	"testing"
)

func TestPreflightSaysWhatToDo(t *testing.T) {
	if err := capable(); err != nil {
		// Not the words of a missing package.
		if got := Preflight(); got == nil || got.Error() != err.Error() {
			t.Errorf("got %v, want %v", got, err)
		}
		return
	}
	t.Setenv("PATH", t.TempDir())
	err := Preflight()
	if err == nil {
		t.Fatal("a machine without programs can run a hub")
	}
	for _, want := range []string{"apt-get install", "runc", "iptables", "conntrack", "iproute2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not name %s", err, want)
		}
	}
	if got := InstallPackages(t.Context(), os.Stderr); got == nil || got.Error() != err.Error() {
		t.Errorf("without apt-get: %v, want %v", got, err)
	}
	t.Setenv("TMPDIR", "/run/user")
	if err := Preflight(); err == nil || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("a temporary directory that a node does not see: %v", err)
	}
}
