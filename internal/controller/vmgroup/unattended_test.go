package vmgroup

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestAGroupThatNobodyLooksAfterSaysSoUntilSomebodyDoes(t *testing.T) {
	r := newRig(t)
	group := r.settle()
	r.Groups.deliverTo(r.bucketOf, func(_ mcreconcile.Request, _ bool) {})
	r.Groups.seen(r.request, keyOf("member-uid", group), group, "default")
	leading, unowned := false, map[int]time.Duration{0: unattendedAfter - time.Second}
	u := UnattendedReporter{Reconciler: r.Reconciler, Leading: func() bool { return leading }, Unowned: func() map[int]time.Duration { return unowned }}
	unattended := func() bool {
		u.look(t.Context())
		c := r.group().Status.Conditions
		said := meta.IsStatusConditionTrue(c, v1alpha1.ConditionUnattended)
		if ready := meta.IsStatusConditionTrue(c, v1alpha1.ConditionReady); ready == said {
			t.Errorf("unattended %v and ready %v", said, ready)
		}
		return said
	}
	if leading = true; unattended() {
		t.Error("the group is called unattended during a takeover")
	}
	unowned[0] = unattendedAfter
	if leading = false; unattended() {
		t.Error("a replica that does not lead writes")
	}
	if leading = true; !unattended() {
		t.Error("nobody says that the group is unattended")
	}
	version := r.group().ResourceVersion
	if u.look(t.Context()); r.group().ResourceVersion != version {
		t.Error("it is said again and again")
	}
	unowned = nil
	r.mustPass()
	if unattended() {
		t.Error("the group is still called unattended after a pass")
	}
}
