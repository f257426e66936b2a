//go:build unix && upgrade

package upgrade

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// userData is a Secret in namespace plain of each member. The first group there passes it to its VMs.
const userData = "cloud-init"

// allowsUserData makes the members allow it.
func (s *tale) allowsUserData() {
	s.Helper()
	for _, name := range members {
		mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		allow := fmt.Appendf(nil, `{"spec":{"userDataSecrets":%q}}`, v1alpha1.UserDataAllow)
		s.must(s.Hub.Patch(s.Context(), mc, client.RawPatch(types.MergePatchType, allow)))
	}
}
