//go:build unix && !fast

package member

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// awaitAdmission waits for the condition AdmissionReady.
func (in *installation) awaitAdmission(member string, status metav1.ConditionStatus, reason string) (*v1alpha1.MemberCluster, metav1.Condition) {
	in.t.Helper()
	var mc *v1alpha1.MemberCluster
	var found metav1.Condition
	await.NoError(in.t, fmt.Sprintf("member %s AdmissionReady=%s %s", member, status, reason), func() error {
		mc = in.get(member)
		condition := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionAdmissionReady)
		if condition == nil || condition.Status != status || condition.Reason != reason {
			return fmt.Errorf("conditions: %+v", mc.Status.Conditions)
		}
		found = *condition
		return nil
	})
	return mc, found
}

// awaitAcknowledged waits until the member has acknowledged a CA bundle; nil is none.
func (in *installation) awaitAcknowledged(member string, ca []byte) {
	in.t.Helper()
	want := ""
	if ca != nil {
		want = hashOf(ca)
	}
	await.NoError(in.t, "acknowledgement by "+member, func() error {
		if got := in.get(member).Status.CABundleHash; got != want {
			return fmt.Errorf("hash %q, want %q", got, want)
		}
		return nil
	})
}
