//go:build unix && upgrade

package upgrade

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// userData is a Secret in namespace plain of each member. The first group there hands it to its VMs.
const userData = "cloud-init"

// unbound makes Secrets what they are in an installation of before: that of the vCenter names no host, and that with user data has no mark.
func (s *tale) unbound() {
	s.Helper()
	vc := s.vcenter()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}},"data":{"VC_HOST":null}}`, v1alpha1.VCenterHostsAnnotation)
	credentials := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: vc.Spec.CredentialsSecretRef.Name}}
	s.must(s.Hub.Patch(s.Context(), credentials, client.RawPatch(types.MergePatchType, patch)))
	for _, name := range members {
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		allow := fmt.Appendf(nil, `{"spec":{"userDataSecrets":%q}}`, v1alpha1.UserDataAllow)
		s.must(s.Hub.Patch(s.Context(), mc, client.RawPatch(types.MergePatchType, allow)))
	}
}

func (s *tale) vcenter() *v1alpha1.VCenter {
	s.Helper()
	vc := &v1alpha1.VCenter{}
	s.must(s.Hub.Get(s.Context(), types.NamespacedName{Name: "default"}, vc))
	return vc
}

// told waits until people know what the next release refuses. Nothing is refused yet: the vCenter serves, and the group's VM was made anew with that
// user data at each stop.
func (s *tale) told() {
	s.Helper()
	vc := s.vcenter()
	s.until("the VCenter to tell that its Secret names no host", func(ctx context.Context) (bool, error) {
		err := s.Hub.Get(ctx, client.ObjectKeyFromObject(vc), vc)
		c := meta.FindStatusCondition(vc.Status.Conditions, v1alpha1.ConditionUnboundSecret)
		return c != nil && c.Reason == v1alpha1.ReasonSecretWithoutHost && stack.IsReady(vc.Status.Conditions), err
	}, func() string { return words(vc.Status.Conditions) })
	for _, member := range members {
		s.is(s.find(member, plain, 0), "told that its user data has no mark", func(now *v1alpha1.VmGroup) bool {
			return now.Spec.UserDataSecretRef != nil && meta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionUnmarkedUserData) && len(now.Status.VMs) == 1
		})
	}
}
