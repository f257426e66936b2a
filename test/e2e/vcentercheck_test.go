//go:build e2e

package e2e

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// theChartChecksTheVCenter runs the commands that Helm prints, up to the one that deletes the Job.
func theChartChecksTheVCenter(t *testing.T) {
	notes, err := world.helm.run(t.Context(), "get", "notes", release)
	must(t, err)
	var commands []string
	for line := range strings.Lines(notes) {
		if strings.HasPrefix(line, "  kubectl ") && strings.Contains(line, "check-vcenter") {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	if len(commands) != 4 || !strings.Contains(commands[3], "delete job") {
		t.Fatalf("Helm prints for the check %q", commands)
	}
	command := exec.CommandContext(t.Context(), "sh", "-ec", strings.Join(commands[:3], "\n"))
	command.Env = peoplesEnvironment(t)
	out, err := command.CombinedOutput()
	world.heard(string(out))
	if err != nil || strings.Contains(string(out), "FAIL") {
		t.Errorf("the check of a healthy vCenter: %v\n%s", err, out)
	}
	job := &batchv1.Job{}
	must(t, world.hub.Get(t.Context(), ref(namespace, "check-vcenter"), job))
	if job.Status.Succeeded != 1 {
		t.Errorf("the Job's status is %+v\n%s", job.Status, out)
	}
	theCheckReadsOneSecret(t)
	must(t, world.hub.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	await.Until(t, "the Job's Pod to go", func(ctx context.Context) (bool, error) {
		list := &corev1.PodList{}
		err := world.hub.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{batchv1.JobNameLabel: job.Name})
		return len(list.Items) == 0, err
	})
}

// theCheckReadsOneSecret asks the hub for the permissions of the Job's account.
func theCheckReadsOneSecret(t *testing.T) {
	t.Helper()
	for _, question := range []struct {
		verb, secret string
		allowed      bool
	}{
		{"get", "vc-creds", true}, {"get", "vmgroup-operator-logins", true}, {"patch", "vmgroup-operator-logins", true},
		{"patch", "vc-creds", false}, {"get", "vmgroup-operator-webhook-tls", false}, {"list", "", false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + namespace + ":vmgroup-operator-check-vcenter",
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: question.verb, Resource: "secrets", Name: question.secret,
			},
		}}
		must(t, world.hub.Create(t.Context(), review))
		if review.Status.Allowed != question.allowed {
			t.Errorf("the account of the check: %s Secret %q is allowed: %t", question.verb, question.secret, review.Status.Allowed)
		}
	}
}
