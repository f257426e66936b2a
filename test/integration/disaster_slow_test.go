//go:build unix && slow

package integration

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// references are the VMs of a group by name.
func references(g *v1alpha1.VmGroup) map[string]string {
	refs := map[string]string{}
	for _, vm := range g.Status.VMs {
		refs[vm.Name] = vm.MoRef
	}
	return refs
}

// TestAHubThatIsLostForGoodIsReplacedByOneThatIsBuiltFromNothing runs docs/runbooks/disaster-recovery.md to its end:
// nothing is left of the hub but its members and the objects in vCenter.
func TestAHubThatIsLostForGoodIsReplacedByOneThatIsBuiltFromNothing(t *testing.T) {
	stack.Story(t)
	ctx := t.Context()
	s, err := stack.Start(ctx, stack.Options{Members: []string{"team-a"}, Sim: sim.Options{Templates: []string{template}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &world{Stack: s}
	untilMember(t, w, "team-a", "True", v1alpha1.ReasonEngaged)
	p := newPlace(t, w, "team-a", "shop")
	g := p.group("web", 2)
	if err := p.cluster.Create(ctx, g); err != nil {
		t.Fatal(err)
	}
	before := references(p.untilRunning("web", 2))
	lost := uidOf(t, s.Hub)

	s.Manager.Kill() // its session at vCenter stays
	second, err := s.StartHub(ctx, "rebuilt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := second.AddVCenter(ctx, ""); err != nil {
		t.Fatal(err)
	}
	vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	patch(t, second.Hub, vcenter, `{"spec":{"grants":[{"memberClusters":["*"],"templates":["*"]}]}}`)

	// The member names its owner, and how to take it over; a fresh claim is not taken.
	if err := stack.JoinHub(ctx, second.Hub, "team-a", p.cluster.Kubeconfig()); err != nil {
		t.Fatal(err)
	}
	member := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "team-a"}}
	annotate := `{"metadata":{"annotations":{"` + v1alpha1.PredecessorAnnotation + `":"` + lost + `"}}}`
	onHub(t, second.Hub, member, func() []metav1.Condition { return member.Status.Conditions }, v1alpha1.ConditionReady, "False", v1alpha1.ReasonClaimedByAnotherHub,
		v1alpha1.PredecessorAnnotation+"="+lost)
	renewed(t, p.cluster, time.Now())
	patch(t, second.Hub, member, annotate)
	onHub(t, second.Hub, member, func() []metav1.Condition { return member.Status.Conditions }, v1alpha1.ConditionReady, "False", v1alpha1.ReasonClaimedByAnotherHub,
		"Installation "+lost+" renewed its claim")
	renewed(t, p.cluster, time.Now().Add(-4*time.Hour)) // as if the hub had been lost for that long
	onHub(t, second.Hub, member, func() []metav1.Condition { return member.Status.Conditions }, v1alpha1.ConditionReady, "True", "")

	// Its groups are held until the VCenter names the lost installation as well, and no session of it is left.
	p.untilSays("web", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAnotherInstallation, lost, "kubectl annotate vcenter default")
	patch(t, second.Hub, vcenter, annotate)
	conditions := func() []metav1.Condition { return vcenter.Status.Conditions }
	onHub(t, second.Hub, vcenter, conditions, v1alpha1.ConditionPredecessorGone, "False", v1alpha1.ReasonPredecessorLives, lost)
	p.patch("web", `{"spec":{"replicas":3}}`)
	p.untilSays("web", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonAnotherInstallation)
	for _, r := range second.Proxy.Changes("CloneVM_Task", "Destroy_Task", "ReconfigVM_Task", "PowerOffVM_Task", "CreateFolder") {
		if r.Group == string(p.get("web").UID) {
			t.Errorf("%s of %s while the group is held", r.Method, r.Name)
		}
	}
	if _, err := s.Person.TerminateSessionsOf(ctx, func(s vimtypes.UserSession) bool {
		return strings.Contains(s.UserAgent, "installation "+lost)
	}); err != nil {
		t.Fatal(err)
	}
	onHub(t, second.Hub, vcenter, conditions, v1alpha1.ConditionPredecessorGone, "True", v1alpha1.ReasonNoSignOfLife)

	after := references(p.untilRunning("web", 3))
	for name, ref := range before {
		if after[name] != ref {
			t.Errorf("%s was %s and is %s", name, ref, after[name])
		}
	}
	if n := len(second.Proxy.Changes("CloneVM_Task")); n != 1 || len(second.Proxy.Changes("Destroy_Task", "PowerOffVM_Task")) != 0 {
		t.Errorf("%d clones, want the one that was asked for; destroyed %v", n, second.Proxy.Changes("Destroy_Task", "PowerOffVM_Task"))
	}
	patch(t, second.Hub, member, `{"metadata":{"annotations":null}}`)
	patch(t, second.Hub, vcenter, `{"metadata":{"annotations":null}}`)
	p.patch("web", `{"spec":{"replicas":1}}`)
	if last := references(p.untilRunning("web", 1)); !maps.Equal(last, map[string]string{"web-0": before["web-0"]}) {
		t.Errorf("left is %v", last)
	}
	p.delete("web")
	p.untilGone("web")
	untilVCenterHolds(t, w, "/DC0/vm/vm-operator", 0)
}

// renewed writes the renewal time into a member's claim.
func renewed(t *testing.T, member *stack.Cluster, at time.Time) {
	t.Helper()
	claim := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "vmgroup-operator-claim"}}
	patch(t, member, claim, `{"data":{"renewTime":"`+at.UTC().Format(time.RFC3339)+`"}}`)
}

func patch(t *testing.T, c *stack.Cluster, o client.Object, merge string) {
	t.Helper()
	if err := c.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, []byte(merge))); err != nil {
		t.Fatalf("patch %s: %v", o.GetName(), err)
	}
}

// onHub waits for the state of a hub's object.
func onHub(t *testing.T, hub *stack.Cluster, o client.Object, conditions func() []metav1.Condition, conditionType string, status metav1.ConditionStatus,
	reason string, mentions ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := await.Condition(ctx, o.GetName()+" to say "+conditionType+"="+string(status), func(ctx context.Context) (bool, error) {
		err := hub.Get(ctx, client.ObjectKeyFromObject(o), o)
		return says(conditions(), conditionType, status, reason, mentions), err
	}); err != nil {
		t.Fatalf("%v; it says %+v", err, meta.FindStatusCondition(conditions(), conditionType))
	}
}
