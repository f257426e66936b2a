//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"regexp"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// patience is the timeout of each wait, long enough for a busy machine.
const patience = 5 * time.Minute

var stories = flag.String("stories", ".", "regular expression: tell only the stories whose name matches, and those three on which they stand")

// TestRelease is the life of an installation. A failed story ends it: later ones would only repeat the failure.
func TestRelease(t *testing.T) {
	told := regexp.MustCompile(*stories)
	for i, story := range []struct {
		name string
		tell func(*testing.T)
	}{
		{"TheReadmeEndsWithARunningGroup", theReadmeEndsWithARunningGroup},
		{"TutorialAndGuidesRun", tutorialAndGuidesRun},
		{"InstalledByHelm", installedByHelm},
		{"TwoMembersJoin", twoMembersJoin},
		{"GroupsBecomeVMsAndPolicyHolds", groupsBecomeVMsAndPolicyHolds},
		{"TheCommandsOfRunbooksWork", theCommandsOfRunbooksWork},
		{"EachQuestionHasOneCommand", eachQuestionHasOneCommand},
		{"HelmTest", helmTest},
		{"TheChartChecksTheVCenter", theChartChecksTheVCenter},
		{"AKilledProcessIsProvenDead", aKilledProcessIsProvenDead},
		{"ADeletedPodHandsOver", aDeletedPodHandsOver},
		{"AKilledShimProvesNothing", aKilledShimProvesNothing},
		{"ARuntimeThatForgotProvesNothing", aRuntimeThatForgotProvesNothing},
		{"WithoutAKubeletTheLeaseDecides", withoutAKubeletTheLeaseDecides},
		{"CertificatesAreRenewedUnderLoad", certificatesAreRenewedUnderLoad},
		{"UpgradedUnderLoad", upgradedUnderLoad},
		{"RolledBackWithoutLosingAField", rolledBackWithoutLosingAField},
		{"UninstalledAndAdopted", uninstalledAndAdopted},
		{"AMemberLeaves", aMemberLeaves},
		{"GrantedIsUsed", grantedIsUsed},
		{"InstalledByKustomize", installedByKustomize},
		{"NoPasswordAnywhere", noPasswordAnywhere},
		{"EachLineThatTheOperatorLogsIsJSON", eachLineThatTheOperatorLogsIsJSON},
	} {
		if (i < 2 || i > 4) && !told.MatchString(story.name) {
			continue
		}
		began := time.Now()
		if !t.Run(story.name, story.tell) {
			world.explain(t)
			t.FailNow()
		}
		world.listen(t)
		fmt.Printf("e2e: %s took %s\n", story.name, time.Since(began).Round(100*time.Millisecond))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pods returns the operator's Pods that are not being deleted.
func pods(t *testing.T) []corev1.Pod {
	t.Helper()
	all, err := operatorPods(t.Context())
	must(t, err)
	return all
}

func operatorPods(ctx context.Context) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := world.hub.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "vmgroup-operator"})
	var staying []corev1.Pod
	for i := range list.Items {
		// The Pod of `helm test` has no container of that name.
		if pod := list.Items[i]; pod.DeletionTimestamp == nil && pod.Spec.Containers[0].Name == "manager" {
			staying = append(staying, pod)
		}
	}
	return staying, err
}

// untilThreeReady waits until exactly three Pods exist and are Ready, and share the groups.
func untilThreeReady(t *testing.T) {
	t.Helper()
	var names []string
	await.Until(t, "three Ready Pods", func(ctx context.Context) (bool, error) {
		all, err := operatorPods(ctx)
		names = nil
		for i := range all {
			if isReady(&all[i]) {
				names = append(names, all[i].Name)
			}
		}
		return len(names) == 3 && len(all) == 3, err
	}, func() string { return fmt.Sprint(names) })
	untilShared(t, names...)
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// busiest is the Pod that holds most buckets: its end has the largest effect.
func busiest(t *testing.T) *corev1.Pod {
	t.Helper()
	shares := world.observer.Timeline().Shares()
	var most *corev1.Pod
	all := pods(t)
	for i := range all {
		if most == nil || shares[all[i].Name] > shares[most.Name] {
			most = &all[i]
		}
	}
	if most == nil {
		t.Fatal("there is no Pod")
	}
	return most
}

func ref(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
