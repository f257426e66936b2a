//go:build unix && slow

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// TestARestoredHubGrantsNoMoreThanTheQuotas restores the hub's etcd to a time before one group grew under a quota and
// another one, of another quota, grew and was released. The operator is restarted, as in docs/runbooks/restore.md,
// while the vCenter of the first group does not respond: that group makes no claim itself.
func TestARestoredHubGrantsNoMoreThanTheQuotas(t *testing.T) {
	w := troubled.enter(t)
	throughProxies(t, w)
	silent, other := newVCenter(t, w, "restored-quota-a"), newVCenter(t, w, "restored-quota-b")
	grown := newPlace(t, w, "team-a", "restored-grown", "bound", "restored-grown")
	kept := newPlace(t, w, "team-a", "restored-kept", "bound", "restored-kept")
	bound(t, w, "restored-grown", 5)
	bound(t, w, "restored-kept", 9)
	grown.apply(grown.group("grows", 1, silent.of))
	kept.apply(kept.group("keeps", 3, other.of))
	grown.untilRunning("grows", 1)
	kept.untilRunning("keeps", 3)

	backup := filepath.Join(t.TempDir(), "backup")
	if err := w.Hub.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	grown.patch("grows", `{"spec":{"replicas":4}}`)
	grown.untilRunning("grows", 4)
	grown.apply(grown.group("waits", 4, other.of))
	grown.untilSays("waits", v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded, "4 are used")
	kept.patch("keeps", `{"spec":{"replicas":6}}`)
	keeps := kept.untilRunning("keeps", 6)
	kept.patch("keeps", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ReleaseAnnotation, keeps.UID))
	kept.delete("keeps")
	await.Until(t, "the group to go without its VMs", func(ctx context.Context) (bool, error) {
		err := kept.cluster.Get(ctx, key(kept.namespace, "keeps"), &v1alpha1.VmGroup{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})

	up := silent.down()
	if err := w.Hub.Restore(t.Context(), backup, bump); err != nil {
		t.Fatal(err)
	}
	if err := w.RestartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Its condition is from the new manager, which has evaluated the other one by then, too.
	grown.apply(grown.group("late", 4, other.of))
	grown.untilSays("late", v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded, "4 are used")
	kept.apply(kept.group("more", 6, other.of))
	kept.untilSays("more", v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonQuotaExceeded, "6 are used")
	untilVCenterHolds(t, w, "/DC0/vm/restored-quota-a", 4)
	untilVCenterHolds(t, w, "/DC0/vm/restored-quota-b", 6)
	up()
	silent.untilSays(v1alpha1.ConditionReady, "True", "")
	if g := grown.untilRunning("grows", 4); !stack.IsReady(g.Status.Conditions) {
		t.Errorf("the group that grew says %s", stack.Words(g.Status.Conditions))
	}
	kept.patch("more", `{"spec":{"replicas":3}}`)
	kept.untilRunning("more", 3)
	for _, name := range []string{"waits", "late"} {
		if g := grown.get(name); len(g.Status.VMs) > 0 {
			t.Errorf("%s has %d VMs beside the 4 of 5 that another has", name, len(g.Status.VMs))
		}
	}
	untilVCenterHolds(t, w, "/DC0/vm/restored-quota-b", 9)
	// They are deleted before the other groups: a suddenly empty folder is suspect.
	for n := range 6 {
		if err := w.Person.Destroy(t.Context(), fmt.Sprintf("%s/keeps-%d", folderOf(t, keeps), n)); err != nil {
			t.Error(err)
		}
	}
}
