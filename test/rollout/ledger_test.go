//go:build unix && slow

package rollout

import (
	"context"
	"fmt"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// granted returns how many VMs the ledger of quotas grants the group. It omits VMs that count without a grant.
func (f *fleet) granted() func(context.Context) (int, error) {
	f.t.Helper()
	maps, err := corev1client.NewForConfig(shared.Hub.Config)
	if err != nil {
		f.t.Fatal(err)
	}
	return func(ctx context.Context) (int, error) {
		all, err := quotatest.List(ctx, maps.ConfigMaps(stack.Namespace))
		if err != nil {
			return 0, err
		}
		for _, ledger := range all {
			for id, e := range ledger.State.Entries() {
				if string(id.UID) == f.uid {
					return int(e.Usage.VMs - e.Beyond.VMs), nil
				}
			}
		}
		return 0, fmt.Errorf("no ledger of quotas has group %s", f.key)
	}
}
