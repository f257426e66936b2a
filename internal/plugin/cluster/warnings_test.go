//go:build !fast

package cluster

import (
	"bytes"
	"testing"
)

func TestAWarningIsShownOnceAndCannotControlTheTerminal(t *testing.T) {
	out := &bytes.Buffer{}
	w := &warnings{out: out}
	for _, text := range []string{"removes 1 VM", "removes 1 VM", "", "x\x1b[2J\ny"} {
		w.HandleWarningHeaderWithContext(t.Context(), 299, "-", text)
	}
	w.HandleWarningHeaderWithContext(t.Context(), 199, "-", "not of Kubernetes")
	if want := "Warning: removes 1 VM\nWarning: x�[2J y\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}
