package argocd

import (
	"fmt"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

const (
	healthy     = "Healthy"
	progressing = "Progressing"
	degraded    = "Degraded"
	suspended   = "Suspended"
)

func v1alpha1Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

// is is a condition whose message names it, so that a test can identify the shown message.
func is(conditionType string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: conditionType + " says so"}
}

func observed(conditions ...metav1.Condition) state {
	return state{generation: 3, seen: 3, conditions: conditions}
}

// state is the part of an object that determines its health.
type state struct {
	generation, seen int64
	conditions       []metav1.Condition
	paused           bool
}

func (s state) of(kind string) client.Object {
	about := metav1.ObjectMeta{Name: "x", Generation: s.generation}
	switch kind {
	case "VmGroup":
		return &v1alpha1.VmGroup{ObjectMeta: about, Status: v1alpha1.VmGroupStatus{ObservedGeneration: s.seen, Conditions: s.conditions}}
	case "VCenter":
		return &v1alpha1.VCenter{ObjectMeta: about, Status: v1alpha1.VCenterStatus{ObservedGeneration: s.seen, Conditions: s.conditions}}
	case "MemberCluster":
		return &v1alpha1.MemberCluster{ObjectMeta: about, Spec: v1alpha1.MemberClusterSpec{Paused: s.paused},
			Status: v1alpha1.MemberClusterStatus{ObservedGeneration: s.seen, Conditions: s.conditions}}
	default:
		return &v1alpha1.VmGroupPolicy{ObjectMeta: about, Status: v1alpha1.VmGroupPolicyStatus{ObservedGeneration: s.seen, Conditions: s.conditions}}
	}
}

func TestHealth(t *testing.T) {
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	ready := is(v1alpha1.ConditionReady, yes, "Fine")
	notReady := func(reason string) metav1.Condition { return is(v1alpha1.ConditionReady, no, reason) }
	readyUnknown := func(reason string) metav1.Condition { return is(v1alpha1.ConditionReady, unknown, reason) }
	const notSeen = "The operator has not processed this yet."
	readySays, stalledSays := "Ready says so", "Stalled says so"

	scripts := checks(t)
	for _, test := range []struct {
		name, kind string
		state      state
		want       health
	}{
		{"new", "VmGroup", state{generation: 1}, health{progressing, notSeen}},
		{"new, with the schema's default", "VmGroup", state{generation: 1, conditions: []metav1.Condition{readyUnknown(v1alpha1.ReasonNotYetReconciled)}},
			health{progressing, notSeen}},
		{"edited since", "VmGroup", state{generation: 4, seen: 3, conditions: []metav1.Condition{ready}}, health{progressing, notSeen}},
		{"ready", "VmGroup", observed(ready, is(v1alpha1.ConditionVCenterReachable, yes, v1alpha1.ReasonVCenterReachable)), health{healthy, readySays}},
		{"older VMs left", "VmGroup", observed(ready, is(v1alpha1.ConditionUpToDate, no, v1alpha1.ReasonRolloutPending)), health{healthy, readySays}},
		{"foreign VMs", "VmGroup", observed(ready, is(v1alpha1.ConditionForeignVMs, yes, v1alpha1.ReasonUnstampedVMs)), health{healthy, readySays}},
		{"scaling", "VmGroup", observed(notReady(v1alpha1.ReasonScalingUp), is(v1alpha1.ConditionReconciling, yes, v1alpha1.ReasonScalingUp)),
			health{progressing, readySays}},
		{"out of capacity", "VmGroup", observed(notReady(v1alpha1.ReasonOutOfCapacity)), health{progressing, readySays}},
		{"inventory incomplete", "VmGroup", observed(readyUnknown(v1alpha1.ReasonInventoryIncomplete),
			is(v1alpha1.ConditionVCenterReachable, yes, v1alpha1.ReasonInventoryIncomplete)), health{progressing, readySays}},
		{"vCenter away", "VmGroup", observed(readyUnknown(v1alpha1.ReasonVCenterUnreachable),
			is(v1alpha1.ConditionVCenterReachable, no, v1alpha1.ReasonVCenterUnreachable)), health{degraded, readySays}},
		{"stalled", "VmGroup", observed(notReady(v1alpha1.ReasonTemplateNotFound), is(v1alpha1.ConditionStalled, yes, v1alpha1.ReasonTemplateNotFound)),
			health{degraded, stalledSays}},
		{"overdue", "VmGroup", observed(notReady(v1alpha1.ReasonScalingUp), is(v1alpha1.ConditionReconciling, yes, v1alpha1.ReasonScalingUp),
			is(v1alpha1.ConditionStalled, yes, v1alpha1.ReasonProgressDeadlineExceeded)), health{degraded, stalledSays}},
		{"held by policy", "VmGroup", observed(notReady(v1alpha1.ReasonPolicyViolated), is(v1alpha1.ConditionPolicyCompliant, no, v1alpha1.ReasonPolicyViolated),
			is(v1alpha1.ConditionStalled, yes, v1alpha1.ReasonPolicyViolated)), health{degraded, stalledSays}},
		{"policy tightened", "VmGroup", observed(ready, is(v1alpha1.ConditionPolicyCompliant, no, v1alpha1.ReasonPolicyTightened)), health{healthy, readySays}},
		{"paused", "VmGroup", observed(notReady(v1alpha1.ReasonPaused), is(v1alpha1.ConditionPaused, yes, v1alpha1.ReasonPaused)), health{suspended, "Paused says so"}},
		{"member paused", "VmGroup", observed(notReady(v1alpha1.ReasonMemberPaused), is(v1alpha1.ConditionPaused, yes, v1alpha1.ReasonMemberPaused)),
			health{suspended, "Paused says so"}},
		{"paused while all is well", "VmGroup", observed(ready, is(v1alpha1.ConditionPaused, yes, v1alpha1.ReasonPaused)), health{suspended, "Paused says so"}},
		{"repair held", "VmGroup", observed(notReady(v1alpha1.ReasonRepairHeld)), health{degraded, readySays}},
		{"unattended", "VmGroup", observed(readyUnknown(v1alpha1.ReasonNoReplica), is(v1alpha1.ConditionUnattended, yes, v1alpha1.ReasonNoReplica)),
			health{degraded, "Unattended says so"}},
		{"unattended and edited since", "VmGroup", state{generation: 4, seen: 3, conditions: []metav1.Condition{
			readyUnknown(v1alpha1.ReasonNoReplica), is(v1alpha1.ConditionUnattended, yes, v1alpha1.ReasonNoReplica)}},
			health{degraded, "Unattended says so"}},

		{"new", "VCenter", state{generation: 1}, health{progressing, notSeen}},
		{"edited since", "VCenter", state{generation: 4, seen: 3, conditions: []metav1.Condition{ready}}, health{progressing, notSeen}},
		{"ready", "VCenter", observed(ready), health{healthy, readySays}},
		{"orphans", "VCenter", observed(ready, is(v1alpha1.ConditionOrphanedVMs, yes, v1alpha1.ReasonGroupGone)), health{healthy, readySays}},
		{"new password refused, old one works", "VCenter", observed(notReady(v1alpha1.ReasonInvalidLogin), is(v1alpha1.ConditionCredentialsValid, no, v1alpha1.ReasonInvalidLogin)),
			health{degraded, readySays}},
		{"connecting", "VCenter", observed(notReady(v1alpha1.ReasonConnecting)), health{progressing, readySays}},
		{"reading", "VCenter", observed(notReady(v1alpha1.ReasonInventoryIncomplete)), health{progressing, readySays}},
		{"unreachable", "VCenter", observed(notReady(v1alpha1.ReasonUnreachable)), health{degraded, readySays}},
		{"privileges missing", "VCenter", observed(is(v1alpha1.ConditionPrivilegesSufficient, no, v1alpha1.ReasonPrivilegesMissing),
			notReady(v1alpha1.ReasonPrivilegesMissing)), health{degraded, readySays}},

		{"new", "MemberCluster", state{generation: 1}, health{progressing, notSeen}},
		{"edited since", "MemberCluster", state{generation: 4, seen: 3, conditions: []metav1.Condition{ready}}, health{progressing, notSeen}},
		{"ready", "MemberCluster", observed(ready, is(v1alpha1.ConditionAdmissionReady, yes, v1alpha1.ReasonAdmissionInstalled)), health{healthy, readySays}},
		{"without a webhook", "MemberCluster", observed(ready, is(v1alpha1.ConditionAdmissionReady, yes, v1alpha1.ReasonNoWebhook)), health{healthy, readySays}},
		{"connecting", "MemberCluster", observed(readyUnknown(v1alpha1.ReasonConnecting)), health{progressing, readySays}},
		{"unreachable", "MemberCluster", observed(notReady(v1alpha1.ReasonMemberUnreachable)), health{degraded, readySays}},
		{"admission pending", "MemberCluster", observed(ready, is(v1alpha1.ConditionAdmissionReady, unknown, v1alpha1.ReasonAdmissionPending)),
			health{progressing, "AdmissionReady says so"}},
		{"admission forbidden", "MemberCluster", observed(ready, is(v1alpha1.ConditionAdmissionReady, no, v1alpha1.ReasonAdmissionForbidden)),
			health{degraded, "AdmissionReady says so"}},
		{"paused", "MemberCluster", state{generation: 3, seen: 3, paused: true, conditions: []metav1.Condition{ready}},
			health{suspended, "spec.paused: the member's groups are left as they are."}},

		{"new", "VmGroupPolicy", state{generation: 1}, health{progressing, notSeen}},
		{"edited since", "VmGroupPolicy", state{generation: 4, seen: 3, conditions: []metav1.Condition{ready}}, health{progressing, notSeen}},
		{"in force", "VmGroupPolicy", observed(ready), health{healthy, readySays}},
		{"invalid", "VmGroupPolicy", observed(notReady(v1alpha1.ReasonPolicyInvalid)), health{degraded, readySays}},
	} {
		t.Run(test.kind+"/"+test.name, func(t *testing.T) {
			if got := check(t, scripts, test.state.of(test.kind)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// TestEveryKindThatPeopleApplyHasACheck: only the operator writes VmGroupLimits, in members.
func TestEveryKindThatPeopleApplyHasACheck(t *testing.T) {
	scripts := checks(t)
	for kind, goType := range v1alpha1Scheme().KnownTypes(v1alpha1.GroupVersion) {
		if goType.PkgPath() != reflect.TypeFor[v1alpha1.VmGroup]().PkgPath() || kind == "VmGroupLimits" {
			continue
		}
		if object, ok := reflect.New(goType).Interface().(client.ObjectList); ok && meta.IsListType(object) {
			continue
		}
		if scripts[kind] == "" {
			t.Errorf("docs/how-to/argocd/health.yaml has no check for %s", kind)
		}
		delete(scripts, kind)
	}
	for kind := range scripts {
		t.Errorf("docs/how-to/argocd/health.yaml checks %s, which is no kind of this API", kind)
	}
}

// TestNoStateMakesACheckFail: if a script fails, or returns an unknown status, Argo CD shows an error instead of
// the object's health.
func TestNoStateMakesACheckFail(t *testing.T) {
	scripts := checks(t)
	words := map[string]bool{healthy: true, progressing: true, degraded: true, suspended: true}
	statuses := []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown, ""}
	for kind := range scripts {
		for i := range len(statuses) * len(statuses) * len(statuses) {
			var conditions []metav1.Condition
			for place, conditionType := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionAdmissionReady} {
				status := statuses[(i/[]int{1, 4, 16}[place])%len(statuses)]
				if status != "" {
					conditions = append(conditions, is(conditionType, status, "Reason"))
				}
			}
			name := fmt.Sprintf("%s with %v", kind, conditions)
			if got := check(t, scripts, observed(conditions...).of(kind)); !words[got.status] {
				t.Errorf("%s: status %q", name, got.status)
			}
		}
	}
}
