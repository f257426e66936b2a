//go:build unix

package integration

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/codeconnect/vmgroup-operator/hack/demo/tour"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cli"
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
		says []string
		// code is the exit code, or -1 if it depends on what other tests do in this fleet.
		code int
		then func()
	}{
		"vmgroup status": {says: []string{"Hub hub", "1 replica, "}, code: -1},
		"get ":           {says: []string{"MEMBER ", "team-a   " + p.namespace + " ", "vg-1 ", "✔ running"}, code: -1},
		"describe":       {says: []string{"VmGroup " + p.namespace + "/vg-1", "vg-1-1", "✔ ready", "VMsCreated"}},
		"--replicas 4":   {says: []string{"after the edit: 4 VMs"}},
		"scale":          {says: []string{"scaled"}, then: func() { p.untilRunning("vg-1", 4) }},
		"rollout":        {says: []string{"complete: 4 VMs, with revision"}},
		"events":         {says: []string{"VMsCreated"}},
		"--cpu 16":       {says: []string{"spec.cpu", "exceeds the maximum 4"}, code: 1},
		"shards":         {says: []string{"default/vg-1 of team-a: bucket", "held by"}},
		"vcenter":        {says: []string{"default "}},
	}
	for _, c := range tour.Commands() {
		out, code := runOfTour(t, filepath.Dir(kubectl), kubeconfig, c.Line)
		found := false
		for words, promise := range promises {
			if !strings.Contains(c.Line, words) || found {
				continue
			}
			found = true
			if promise.code >= 0 && code != promise.code {
				t.Errorf("%s: exit code %d\n%s", c.Line, code, out)
			}
			for _, want := range promise.says {
				if !strings.Contains(out, want) {
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

// runOfTour runs a command, and returns its output and exit code. The plugin runs in this process.
func runOfTour(t *testing.T, path, kubeconfig, line string) (string, int) {
	t.Helper()
	if args, ok := strings.CutPrefix(line, "kubectl vmgroup "); ok {
		out := &bytes.Buffer{}
		plugin := cli.New(cli.Options{CacheDir: t.TempDir(), IOStreams: genericiooptions.IOStreams{Out: out, ErrOut: out}, Now: time.Now})
		plugin.SetArgs(append(strings.Fields(args), "--kubeconfig", kubeconfig))
		err := plugin.ExecuteContext(t.Context())
		if err != nil {
			cli.Print(out, err)
		}
		return out.String(), cli.ExitCode(err)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+t.TempDir(), "PATH="+path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}
