//go:build unix && !fast

package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"testing"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/plugin/cluster"
)

// TestEachRolloutVerbDoesWhatItsKubectlCommandDoes runs the command that each verb prints, and the verb.
func TestEachRolloutVerbDoesWhatItsKubectlCommandDoes(t *testing.T) {
	i := newInterventions(t)
	earlier := v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "debian-11"}
	i.report(func(s *v1alpha1.VmGroupStatus) {
		s.Revisions = []v1alpha1.Revision{plan.ShapeOf(earlier), plan.ShapeOf(i.group.Spec)}
		s.CurrentRevision, s.UpdateRevision = plan.Revision(earlier), plan.Revision(i.group.Spec)
	})
	start := i.group.Spec.DeepCopy()
	for _, test := range []struct {
		line string
		is   func(spec v1alpha1.VmGroupSpec) bool
	}{
		{"rollout pause web -n intervened", func(spec v1alpha1.VmGroupSpec) bool { return spec.UpdateStrategy.Paused }},
		{"rollout resume web -n intervened", func(spec v1alpha1.VmGroupSpec) bool { return !spec.UpdateStrategy.Paused }},
		{"rollout undo web -n intervened", func(spec v1alpha1.VmGroupSpec) bool {
			return plan.Revision(spec) == plan.Revision(earlier) && *spec.Replicas == *start.Replicas
		}},
		{"rollout replace web -n intervened", func(spec v1alpha1.VmGroupSpec) bool { return spec.UpdateStrategy.ReplaceTrigger != "" }},
	} {
		t.Run(test.line, func(t *testing.T) {
			before := i.spec()
			command, err := i.run(append(strings.Fields(test.line), "--dry-run=client")...)
			i.must(err)
			_, err = i.run(append(strings.Fields(test.line), "--dry-run=server")...)
			i.must(err)
			if now := i.spec(); !apiequality.Semantic.DeepEqual(now, before) {
				t.Errorf("a dry run changes spec to %+v", now)
			}
			shell := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(command, "kubectl ", i.kubectl+" "))
			shell.Env = i.settings
			if out, err := shell.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			if now := i.spec(); !test.is(now) {
				t.Errorf("the printed command changes spec to %+v", now)
			}
			i.group.Spec = before
			i.must(i.hub.Update(t.Context(), i.group))
			out, err := i.run(strings.Fields(test.line)...)
			i.must(err)
			if now := i.spec(); !test.is(now) {
				t.Errorf("the verb changes spec to %+v:\n%s", now, out)
			}
		})
	}
}

func TestRolloutStatusEndsWhenTheUpdateDoes(t *testing.T) {
	i := newInterventions(t)
	reported := func(ready, upToDate metav1.ConditionStatus, reason string) {
		i.report(func(s *v1alpha1.VmGroupStatus) {
			s.ObservedGeneration, s.UpdatedReplicas, s.DesiredReplicas, s.UpdateRevision = i.group.Generation, 1, 2, "8b1f"
			s.Conditions = nil
			for kind, status := range map[string]metav1.ConditionStatus{v1alpha1.ConditionReady: ready, v1alpha1.ConditionUpToDate: upToDate} {
				s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "message", LastTransitionTime: metav1.Now()})
			}
		})
	}
	check := func(line string, code int, has string) {
		t.Helper()
		out, err := i.run(strings.Fields(line)...)
		if err != nil {
			out += err.Error()
		}
		if ExitCode(err) != code || !strings.Contains(out, has) {
			t.Errorf("%s: exit code %d, want %d and %q:\n%s", line, ExitCode(err), code, has, out)
		}
	}
	check("rollout status web -n intervened -w=false", cluster.ExitNotWell, "has not seen generation 1")
	check("rollout undo web -n intervened", cluster.ExitUsage, "no earlier revision")
	reported(metav1.ConditionFalse, metav1.ConditionFalse, v1alpha1.ReasonRolloutProgressing)
	check("rollout status web -n intervened --timeout 10ms", cluster.ExitNotWell, "did not end within 10ms")
	check("rollout status none -n intervened", cluster.ExitUsage, `no VmGroup "none"`)
	// The command prints the progress of the update, and ends when the update does.
	path := i.writeFile()
	out := &firstWrite{seen: make(chan struct{})}
	ended := make(chan error)
	go func() {
		ended <- i.command(t.Context(), out, path, "rollout", "status", "web", "-n", "intervened", "--timeout", "1m")
	}()
	<-out.seen
	reported(metav1.ConditionTrue, metav1.ConditionTrue, "UpToDate")
	if err := <-ended; err != nil || !strings.Contains(out.String(), "RolloutProgressing: message\n") || !strings.Contains(out.String(), "complete: 2 VMs, with revision 8b1f") {
		t.Errorf("error %v:\n%s", err, out)
	}
	reported(metav1.ConditionTrue, metav1.ConditionFalse, v1alpha1.ReasonRolloutStopped)
	check("rollout status web -n intervened", cluster.ExitNotWell, "RolloutStopped: message")
}

// firstWrite is output whose first write is known to other goroutines. It is read after its writer has ended.
type firstWrite struct {
	bytes.Buffer
	once sync.Once
	seen chan struct{}
}

// Write implements io.Writer.
func (f *firstWrite) Write(text []byte) (int, error) {
	defer f.once.Do(func() { close(f.seen) })
	return f.Buffer.Write(text)
}

// spec of the group as it is stored.
func (i *interventions) spec() v1alpha1.VmGroupSpec {
	i.Helper()
	i.must(i.hub.Get(i.Context(), client.ObjectKeyFromObject(i.group), i.group))
	return *i.group.Spec.DeepCopy()
}

// report writes the status of the group, as the operator does.
func (i *interventions) report(edit func(*v1alpha1.VmGroupStatus)) {
	i.Helper()
	i.must(i.hub.Get(i.Context(), client.ObjectKeyFromObject(i.group), i.group))
	edit(&i.group.Status)
	i.must(i.hub.Status().Update(i.Context(), i.group))
}
