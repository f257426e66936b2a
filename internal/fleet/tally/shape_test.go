package tally

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

var (
	created = time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)
	later   = created.Add(time.Hour)
)

func condition(of string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(later)}
}

func vm(phase v1alpha1.VMPhase, incarnation int32) v1alpha1.VMStatus {
	return v1alpha1.VMStatus{Phase: phase, Incarnation: incarnation}
}

func TestShapesOfGroups(t *testing.T) {
	const ready, upToDate, compliant = v1alpha1.ConditionReady, v1alpha1.ConditionUpToDate, v1alpha1.ConditionPolicyCompliant
	allReady := condition(ready, metav1.ConditionTrue, v1alpha1.ReasonAllVMsReady)
	scaling := condition(ready, metav1.ConditionFalse, v1alpha1.ReasonScalingUp)
	paused := condition(v1alpha1.ConditionPaused, metav1.ConditionTrue, v1alpha1.ReasonPaused)
	deleted := func(g *v1alpha1.VmGroup) { g.DeletionTimestamp = &metav1.Time{Time: later} }
	none := func(*v1alpha1.VmGroup) {}
	for name, test := range map[string]struct {
		phase      v1alpha1.Phase
		conditions []metav1.Condition
		vms        []v1alpha1.VMStatus
		change     func(*v1alpha1.VmGroup)
		want       Shape
	}{
		"ready":             {v1alpha1.PhaseRunning, []metav1.Condition{allReady}, nil, none, Shape{State: Running, Desired: 3}},
		"new":               {"", nil, nil, none, Shape{State: Pending, Reason: v1alpha1.ReasonNotYetReconciled, Since: created, Desired: 3}},
		"growing":           {"PENDING", []metav1.Condition{scaling}, nil, none, Shape{State: Pending, Reason: v1alpha1.ReasonScalingUp, Since: later, Desired: 3}},
		"ready is unknown":  {"PENDING", []metav1.Condition{condition(ready, metav1.ConditionUnknown, "NoReplica")}, nil, none, Shape{State: Pending, Reason: "NoReplica", Since: later, Desired: 3}},
		"a reason by users": {"PENDING", []metav1.Condition{condition(ready, metav1.ConditionFalse, "Invented")}, nil, none, Shape{State: Pending, Reason: OtherReason, Since: later, Desired: 3}},
		"stalled":           {v1alpha1.PhaseError, []metav1.Condition{scaling}, nil, none, Shape{State: Error, Reason: v1alpha1.ReasonScalingUp, Since: later, Desired: 3}},
		"deleted in error":  {v1alpha1.PhaseError, []metav1.Condition{scaling}, nil, deleted, Shape{State: Deleting, Reason: v1alpha1.ReasonScalingUp, Since: later}},
		"paused and deleted": {"PENDING", []metav1.Condition{scaling, paused}, nil, deleted,
			Shape{State: Paused, Reason: v1alpha1.ReasonScalingUp}},
		"paused": {"PENDING", []metav1.Condition{scaling, paused}, nil, none, Shape{State: Paused, Reason: v1alpha1.ReasonScalingUp}},
		"unattended and paused": {"PENDING", []metav1.Condition{scaling, paused, condition(v1alpha1.ConditionUnattended, metav1.ConditionTrue, "NoReplica")}, nil, none,
			Shape{State: Unattended, Reason: v1alpha1.ReasonScalingUp}},
		"a condition from 1970": {"", []metav1.Condition{{Type: ready, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotYetReconciled, LastTransitionTime: metav1.Unix(0, 0)}},
			nil, none, Shape{State: Pending, Reason: v1alpha1.ReasonNotYetReconciled, Since: created, Desired: 3}},
		"VMs": {v1alpha1.PhaseRunning, []metav1.Condition{allReady}, []v1alpha1.VMStatus{
			vm(v1alpha1.VMReady, 0), vm(v1alpha1.VMReady, 4), vm(v1alpha1.VMPending, 0), vm(v1alpha1.VMCloning, 0), vm(v1alpha1.VMStarting, 1), vm(v1alpha1.VMAdopting, 0),
			vm(v1alpha1.VMStopped, 0), vm(v1alpha1.VMDeleting, 1), vm(v1alpha1.VMLost, 2), vm(v1alpha1.VMUnhealthy, 0), vm(v1alpha1.VMFailed, 1), vm("Dancing", 0),
		}, none, Shape{Desired: 3, VMs: [vmStates]int32{2, 4, 1, 1, 1, 1, 1, 1}}},
		"held as a mass deletion": {"PENDING", []metav1.Condition{condition(ready, metav1.ConditionFalse, v1alpha1.ReasonMassDeletion)}, nil, deleted,
			Shape{State: Deleting, Reason: v1alpha1.ReasonMassDeletion, Held: [holds]bool{HeldByMassDeletion: true}}},
		"a held repair": {"PENDING", []metav1.Condition{scaling, condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonRepairHeld)}, nil, none,
			Shape{State: Pending, Reason: v1alpha1.ReasonScalingUp, Desired: 3, Held: [holds]bool{HeldByRepair: true}}},
		"a foreign disk": {"PENDING", []metav1.Condition{condition(ready, metav1.ConditionFalse, v1alpha1.ReasonForeignDisk)}, nil, none,
			Shape{State: Pending, Reason: v1alpha1.ReasonForeignDisk, Desired: 3, Held: [holds]bool{HeldByForeignDisk: true}}},
		"held by a quota": {v1alpha1.PhaseRunning, []metav1.Condition{allReady, condition(compliant, metav1.ConditionFalse, v1alpha1.ReasonQuotaExceeded)}, nil, none,
			Shape{State: Running, Desired: 3, Held: [holds]bool{HeldByPolicy: true}}},
		"kept although a policy forbids it": {v1alpha1.PhaseRunning, []metav1.Condition{allReady, condition(compliant, metav1.ConditionFalse, v1alpha1.ReasonPolicyTightened)}, nil, none,
			Shape{State: Running, Desired: 3}},
		"an update": {v1alpha1.PhaseRunning, []metav1.Condition{allReady, condition(upToDate, metav1.ConditionFalse, v1alpha1.ReasonRolloutProgressing)}, nil, none,
			Shape{State: Running, Desired: 3, Rollout: RolloutProgressing}},
		"a paused update": {v1alpha1.PhaseRunning, []metav1.Condition{allReady, condition(upToDate, metav1.ConditionFalse, v1alpha1.ReasonRolloutPaused)}, nil, none,
			Shape{State: Running, Desired: 3, Rollout: RolloutPaused}},
		"a stopped update": {v1alpha1.PhaseRunning, []metav1.Condition{allReady, condition(upToDate, metav1.ConditionFalse, v1alpha1.ReasonRolloutStopped)}, nil, none,
			Shape{State: Running, Desired: 3, Rollout: RolloutStopped}},
	} {
		t.Run(name, func(t *testing.T) {
			g := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(created)}}
			g.Status = v1alpha1.VmGroupStatus{Phase: test.phase, Conditions: test.conditions, VMs: test.vms, DesiredReplicas: 3}
			test.change(g)
			if got := Of(g); got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// A reason that the operator writes and that is missing here would count as Other.
func TestEveryReasonOfAGroupIsKnown(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../../../api/v1alpha1/conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var declared []string
	for _, decl := range file.Decls {
		block, is := decl.(*ast.GenDecl)
		if !is || !strings.HasPrefix(block.Doc.Text(), "Reasons of a VmGroup's conditions") {
			continue
		}
		for _, spec := range block.Specs {
			value, err := strconv.Unquote(spec.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			declared = append(declared, value)
		}
	}
	if len(declared) < 50 {
		t.Fatalf("found %d reasons only", len(declared))
	}
	for _, reason := range declared {
		if reasonOf(reason) != reason {
			t.Errorf("%s counts as %s", reason, reasonOf(reason))
		}
	}
	for reason := range reasons {
		if !slices.Contains(declared, reason) {
			t.Errorf("%s is no reason of a VmGroup", reason)
		}
	}
}
