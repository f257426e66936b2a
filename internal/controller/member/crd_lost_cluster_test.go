//go:build unix && !fast

package member

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/config/crd"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// Only the watch can detect it in time: all other checks are an hour away.
func TestACRDThatIsDeletedIsSaidAtOnceAndInstalledAgain(t *testing.T) {
	servers := clustersForTest(t)
	in := installed(t, servers.hub, "lost", func(o *testOptions) {
		o.Timings.HealthInterval, o.Timings.Audit = time.Hour, time.Hour
	})
	in.join("lost", servers.alpha.Kubeconfig())
	in.awaitEngaged("lost")
	newGroup(t, servers.alpha, "before")
	in.awaitReconciled("lost", "before")

	member := directClient(t, servers.alpha.Config)
	removeCRD(t, member)
	event := in.awaitEvent("lost", v1alpha1.ReasonCRDMissing)
	for _, needed := range []string{crd.VmGroupName, "deleted", "installed again"} {
		if !strings.Contains(event.Note, needed) {
			t.Errorf("the event does not say %q: %s", needed, event.Note)
		}
	}
	in.awaitEngaged("lost")
	newGroup(t, servers.alpha, "after")
	in.awaitReconciled("lost", "after")

	// If the operator does not install the CRD, the report stays until the CRD is installed.
	before, err := in.provider.Get(t.Context(), "lost")
	if err != nil {
		t.Fatal(err)
	}
	in.edit("lost", func(mc *v1alpha1.MemberCluster) { mc.Spec.Manage = v1alpha1.ManageNone })
	await.NoError(t, "the new connection", func() error {
		now, err := in.provider.Get(t.Context(), "lost")
		if err == nil && now == before {
			err = errors.New("it is the old one")
		}
		return err
	})
	removeCRD(t, member)
	mc := in.awaitReady("lost", metav1.ConditionFalse, v1alpha1.ReasonCRDMissing)
	if c := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionCRDInstalled); c.Status != metav1.ConditionFalse ||
		c.Reason != v1alpha1.ReasonCRDMissing || !strings.Contains(c.Message, "manager render") {
		t.Errorf("CRDInstalled = %+v", c)
	}
	if _, ok := in.opts.Fleet.Member("lost"); !ok {
		t.Error("a member without the CRD is disengaged: what its groups were is forgotten")
	}
	if err := member.Create(t.Context(), crd.VmGroupCRD()); err != nil {
		t.Fatal(err)
	}
	in.awaitEngaged("lost")
}
