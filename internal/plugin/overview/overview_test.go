package overview

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/hub"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/protocol"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/ring"
	"github.com/codeconnect/vmgroup-operator/internal/shards"
	"github.com/codeconnect/vmgroup-operator/internal/term"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: "message of " + reason, LastTransitionTime: metav1.NewTime(noon.Add(-4 * time.Minute))}
}

func member(name string, groups int32, notReady *v1alpha1.NotReadyGroups, conditions ...metav1.Condition) v1alpha1.MemberCluster {
	return v1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.MemberClusterStatus{Conditions: conditions, Groups: groups, NotReady: notReady, ReadyVMs: groups, DesiredVMs: groups},
	}
}

func notReady(groups int32, vcenters ...string) *v1alpha1.NotReadyGroups {
	n := &v1alpha1.NotReadyGroups{Groups: groups}
	for i, vc := range vcenters {
		n.Worst = append(n.Worst, v1alpha1.NotReadyGroup{VCenter: vc, Namespace: "shop", Name: string(rune('a' + i)), Reason: "TemplateNotFound", Since: metav1.NewTime(noon.Add(-2 * time.Hour))})
	}
	return n
}

var ready = condition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Engaged")

// itemOf returns the item of a title.
func itemOf(t *testing.T, of Overview, title string) Item {
	t.Helper()
	i := slices.IndexFunc(of.Items, func(i Item) bool { return i.Title == title })
	if i < 0 {
		t.Fatalf("no item %q in %+v", title, of.Items)
	}
	return of.Items[i]
}

func TestAGroupThatWaitsForItsVCenterIsNotATroubleOfItsMember(t *testing.T) {
	down := v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "south"}}
	down.Status.Conditions = []metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "InvalidLogin")}
	down.Status.NotReady = notReady(6, "", "", "", "")
	of := Of([]v1alpha1.MemberCluster{
		member("a", 10, notReady(2, "south", "south"), ready), member("b", 20, notReady(30, slices.Repeat([]string{"south"}, 10)...), ready),
		member("c", 30, notReady(5, "south", "north", "north", "north", "north"), ready), member("d", 40, nil, ready), member("e", 50, nil, ready),
	}, []v1alpha1.VCenter{down}, term.Times{Now: noon})
	if of.NotReady != 37 || of.Groups != 150 {
		t.Errorf("%d of %d groups are not ready", of.NotReady, of.Groups)
	}
	if got := itemOf(t, of, "VCenter south"); got.Mark != term.Bad || got.Summary != "InvalidLogin, 4m" || got.Lines[1] != "6 groups not ready: /shop/a, /shop/b, /shop/c, and 3 more" {
		t.Errorf("the VCenter is %+v", got)
	}
	if got := itemOf(t, of, "Member c"); got.Summary != "4 of 30 groups not ready" || !slices.Equal(got.Lines, []string{"shop/b   TemplateNotFound, 120m", "shop/c   TemplateNotFound, 120m", "shop/d   TemplateNotFound, 120m", "and 1 more"}) {
		t.Errorf("the member with a trouble of its own is %+v", got)
	}
	itemOf(t, of, "2 members")
	if last := of.Items[len(of.Items)-1]; last.Mark != term.OK || last.Summary != "90 groups, 90 of 90 VMs ready" || of.Items[0].Title != "VCenter south" || of.Well() {
		t.Errorf("the order is %+v", of.Items)
	}
}

func TestAMemberWithTroubleIsNeverCountedAsWell(t *testing.T) {
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		mark       term.Mark
		summary    string
	}{
		"unreachable":       {[]metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "MemberUnreachable")}, term.Bad, "MemberUnreachable, 4m"},
		"connecting":        {[]metav1.Condition{condition(v1alpha1.ConditionReady, metav1.ConditionUnknown, "Connecting")}, term.Unknown, "Connecting, 4m"},
		"silent":            {nil, term.Unknown, "NotReported"},
		"admission is off":  {[]metav1.Condition{ready, condition(v1alpha1.ConditionAdmissionReady, metav1.ConditionFalse, "NoURL")}, term.Warn, "NoURL, 4m"},
		"held":              {[]metav1.Condition{ready, condition(v1alpha1.ConditionMassDeletion, metav1.ConditionTrue, "Held")}, term.Warn, "Held, 4m"},
		"of a new operator": {[]metav1.Condition{ready, condition("Invented", metav1.ConditionTrue, "Trouble")}, term.Warn, "Trouble, 4m"},
	} {
		of := Of([]v1alpha1.MemberCluster{member("a", 1, nil, test.conditions...)}, nil, term.Times{Now: noon})
		if got := itemOf(t, of, "Member a"); got.Mark != test.mark || got.Summary != test.summary || of.Well() || of.Next == "" {
			t.Errorf("%s: the member is %+v", name, got)
		}
	}
	quiet := []metav1.Condition{ready, condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, "Progressing")}
	if of := Of([]v1alpha1.MemberCluster{member("a", 1, nil, quiet...)}, nil, term.Times{Now: noon}); !of.Well() || of.Next != "" {
		t.Errorf("a member that is well is %+v", of)
	}
}

func TestVMsThatWereKeptAreNoTrouble(t *testing.T) {
	vc := v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "north"}}
	vc.Status.Conditions = []metav1.Condition{ready, condition(v1alpha1.ConditionKeptVMs, metav1.ConditionTrue, "Kept")}
	if of := Of(nil, []v1alpha1.VCenter{vc}, term.Times{Now: noon}); !of.Well() {
		t.Errorf("the VCenter is %+v", of.Items)
	}
	vc.Status.Conditions = append(vc.Status.Conditions, condition(v1alpha1.ConditionPredecessorGone, metav1.ConditionFalse, "PredecessorLives"))
	if got := itemOf(t, Of(nil, []v1alpha1.VCenter{vc}, term.Times{Now: noon}), "VCenter north"); got.Mark != term.Warn || got.Summary != "PredecessorLives, 4m" {
		t.Errorf("the VCenter is %+v", got)
	}
}

func TestForeignTextOfAStatusIsShownWithoutControlCharacters(t *testing.T) {
	evil := notReady(1, "north")
	evil.Worst[0].Name, evil.Worst[0].Reason = "x\x1b[2J\n", "y\x1b[2J"
	of := Of([]v1alpha1.MemberCluster{member("a", 1, evil, ready), member("b", 1, nil, condition(v1alpha1.ConditionReady, metav1.ConditionFalse, "z\x1b[2J"))}, nil, term.Times{Now: noon})
	for _, i := range of.Items {
		if text := i.Summary + strings.Join(i.Lines, ""); strings.ContainsAny(text, "\x1b\n") {
			t.Errorf("%q has control characters", text)
		}
	}
}

func TestReplicasWithoutASignOfLifeHoldNothing(t *testing.T) {
	session := func(name string, renewed time.Duration) hub.Session {
		return hub.Session{Lease: protocol.Lease{Session: name, Host: "pod-" + name}, Renewed: noon.Add(-renewed)}
	}
	of := shards.Snapshot{
		Found: true, Sessions: []hub.Session{session("a", time.Second), session("b", time.Hour), session("starts", time.Second)},
		Ring: ring.Ring{Settings: ring.Settings{Buckets: 4, Patience: 12 * time.Second}, Leader: ring.Lock{Holder: "a"}, Buckets: []ring.Lock{{Holder: "a"}, {Holder: "a"}, {Holder: "b"}, {}}},
	}
	if got := ReplicasOf(of, noon); got != (Replicas{Number: 1, Buckets: 2, Of: 4, Leader: "pod-a"}) || got.Well() {
		t.Errorf("one of two replicas is alive: %+v", got)
	}
	of.Ring.Buckets = of.Ring.Buckets[:2]
	if got := ReplicasOf(of, noon); !got.Well() {
		t.Errorf("all buckets are held: %+v", got)
	}
	if got := ReplicasOf(of, noon.Add(2*time.Minute)); got.Well() || got.Leader != "" {
		t.Errorf("all replicas are dead: %+v", got)
	}
	if ReplicasOf(shards.Snapshot{}, noon).Well() {
		t.Error("without a shard map, the operator is not well")
	}
}
