package trust

import (
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// MembersOf returns the members that have, or must get, webhook configurations from this operator. It omits members
// that others manage: the operator cannot know what they trust.
func MembersOf(all []v1alpha1.MemberCluster, defaultURL string) []Member {
	members := make([]Member, 0, len(all))
	for i := range all {
		m := &all[i]
		url := defaultURL
		if m.Spec.Admission != nil && m.Spec.Admission.URL != "" {
			url = m.Spec.Admission.URL
		}
		if m.Spec.Manage == v1alpha1.ManageNone || m.DeletionTimestamp != nil || url == "" && m.Status.CABundleHash == "" {
			continue
		}
		members = append(members, Member{
			Name: m.Name, Acked: m.Status.CABundleHash, Reachable: meta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionReady),
		})
	}
	return members
}
