//go:build unix && !fast

package member

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// With the roles of config/member-rbac neither identity has the permissions of the other.
func TestAMemberIsInstalledAndServedWithTwoIdentities(t *testing.T) {
	servers := clustersForTest(t)
	fake := &fakeAdmission{ca: servers.alpha.Config.CAData, limit: 3}
	in := installed(t, servers.hub, "two-identities", withAdmission(fake))
	member := directClient(t, servers.alpha.Config)
	runtime, _ := grantRoles(t, servers.alpha, "two-runtime", "runtime")
	bootstrap, revoke := grantRoles(t, servers.alpha, "two-bootstrap", "bootstrap")
	removeCRD(t, member)

	in.join("alpha", runtime, func(mc *v1alpha1.MemberCluster) {
		mc.Spec.BootstrapKubeconfigSecretRef = &v1alpha1.KubeconfigReference{Name: "alpha-bootstrap-kubeconfig"}
	})
	mc := in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonKubeconfigNotFound)
	if ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, "spec.bootstrapKubeconfigSecretRef") {
		t.Errorf("message = %q", ready.Message)
	}
	in.putKubeconfig("alpha-bootstrap", bootstrap)
	in.awaitEngaged("alpha")
	in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
	if exempt := fake.lastTarget().Exempt; !slices.Equal(exempt, []string{"two-bootstrap", "two-runtime"}) {
		t.Errorf("exempt = %q", exempt)
	}
	newGroup(t, servers.alpha, "by-runtime")
	in.awaitReconciled("alpha", "by-runtime")

	t.Run("a bootstrap identity of another cluster installs nothing", func(t *testing.T) {
		in.putKubeconfig("alpha-bootstrap", servers.beta.Kubeconfig())
		mc := in.awaitReady("alpha", metav1.ConditionFalse, v1alpha1.ReasonKubeconfigRefused)
		if ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, "another cluster") {
			t.Errorf("message = %q", ready.Message)
		}
		if found := admissionObject(t, directClient(t, servers.beta.Config), "ValidatingAdmissionPolicy"); found != nil {
			t.Error("the other cluster got admission objects")
		}
		in.putKubeconfig("alpha-bootstrap", bootstrap)
		in.awaitEngaged("alpha")
	})
	t.Run("without rights it is reported and the groups are served on", func(t *testing.T) {
		revoke()
		fake.change(func(f *fakeAdmission) { f.limit = 4 })
		_, condition := in.awaitAdmission("alpha", metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden)
		if !strings.Contains(condition.Message, "spec.bootstrapKubeconfigSecretRef") || !strings.Contains(condition.Message, "two-bootstrap") {
			t.Errorf("message = %q", condition.Message)
		}
		in.awaitEngaged("alpha")
		in.stop()
		in.start(servers.hub.Config, in.opts)
		await.NoError(t, "handle after the restart", func() error {
			if _, ok := in.opts.Fleet.Member("alpha"); !ok {
				return errors.New("not engaged")
			}
			return nil
		})
		newGroup(t, servers.alpha, "served-on")
		in.awaitReconciled("alpha", "served-on")
		in.awaitAdmission("alpha", metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden)
	})
	t.Run("with fewer roles the groups are served, what may be installed is, and the condition names the missing privileges", func(t *testing.T) {
		_, takeBack := grantChanged(t, servers.alpha, "two-bootstrap", func(role *rbacv1.ClusterRole) {
			role.Name += "-fewer"
			for i := range role.Rules {
				role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(resource string) bool { return resource == "validatingadmissionpolicybindings" })
			}
		}, "bootstrap")
		awaitLimit(t, member, 4)
		await.NoError(t, "the condition to name the rule", func() error {
			_, condition := in.awaitAdmission("alpha", metav1.ConditionFalse, v1alpha1.ReasonAdmissionForbidden)
			for _, word := range []string{
				"ValidatingAdmissionPolicyBinding vmgroup-operator", `cannot patch resource "validatingadmissionpolicybindings"`, "kubectl apply -k config/member",
			} {
				if !strings.Contains(condition.Message, word) {
					return fmt.Errorf("%q is not in %q", word, condition.Message)
				}
			}
			return nil
		})
		in.awaitEngaged("alpha")
		newGroup(t, servers.alpha, "served-with-fewer-roles")
		in.awaitReconciled("alpha", "served-with-fewer-roles")
		takeBack()
	})
	t.Run("with rights again it catches up", func(t *testing.T) {
		_, _ = grantRoles(t, servers.alpha, "two-bootstrap", "bootstrap")
		in.awaitAdmission("alpha", metav1.ConditionTrue, v1alpha1.ReasonAdmissionInstalled)
		awaitLimit(t, member, 4)
	})
	in.leave("alpha")
	in.awaitEvent("alpha", "Left")
	awaitObject(t, member, "ValidatingAdmissionPolicy", func(object *unstructured.Unstructured) bool { return object == nil })
}
