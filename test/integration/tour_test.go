//go:build unix

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/hack/demo/tour"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
)

// TestEachCommandOfTheDemosTourDoesWhatItPromises runs them like a user who keeps the demo up.
func TestEachCommandOfTheDemosTourDoesWhatItPromises(t *testing.T) {
	w := calm.enter(t)
	p := newPlace(t, w, "team-a", "tour")
	p.apply(p.group("vg-1", 2))
	p.untilRunning("vg-1", 2)
	content, err := tour.Kubeconfig(p.namespace, map[string][]byte{
		"hub": w.Hub.Kubeconfig(), "team-a": w.Members["team-a"].Kubeconfig(), "team-b": w.Members["team-b"].Kubeconfig(),
	})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		t.Fatal(err)
	}
	kubectl, err := assets.Kubectl(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	promises := map[string]struct {
		says  []string
		fails bool
		then  func()
	}{
		"get vmgroups":  {says: []string{"LAST_MESSAGE", "vg-1", "RUNNING"}},
		"scale":         {says: []string{"scaled"}, then: func() { p.untilRunning("vg-1", 4) }},
		"describe":      {says: []string{"vg-1-3", "AllVMsReady", "VMsCreated"}},
		"patch":         {says: []string{"spec.cpu", "exceeds the maximum 4"}, fails: true},
		"get vcenters,": {says: []string{"vcenter.vm.codeconnect.vmworld.com/default", "team-a", "team-b"}},
	}
	for _, c := range tour.Commands() {
		command := exec.CommandContext(t.Context(), "sh", "-c", c.Line)
		command.Dir = t.TempDir()
		command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Dir(kubectl)+string(filepath.ListSeparator)+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		found := false
		for words, promise := range promises {
			if !strings.Contains(c.Line, " "+words) {
				continue
			}
			found = true
			if (err != nil) != promise.fails {
				t.Errorf("%s: %v\n%s", c.Line, err, out)
			}
			for _, want := range promise.says {
				if !strings.Contains(string(out), want) {
					t.Errorf("%s does not say %q:\n%s", c.Line, want, out)
				}
			}
			if promise.then != nil {
				promise.then()
			}
		}
		if !found {
			t.Errorf("the test knows nothing of %q", c.Line)
		}
	}
}
