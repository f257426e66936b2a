// Package tally counts groups and VMs by their status. Each event of an informer updates the counts; reading them does
// not scan groups.
package tally

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// State of a group. A group has the last of these states that applies.
type State uint8

// States of a group.
const (
	Running State = iota
	Pending
	Error
	Deleting
	Paused
	Unattended
	states
)

// VMState is the state of one VM.
type VMState uint8

// States of a VM.
const (
	VMReady VMState = iota
	// VMStarting is the first VM of its ordinal before it is ready. VMRepairing is a VM in place of a lost one before
	// it is ready.
	VMStarting
	VMRepairing
	VMStopped
	VMDeleting
	VMLost
	VMUnhealthy
	VMFailed
	vmStates
)

// Hold is why a group is held.
type Hold uint8

// Holds.
const (
	HeldByMassDeletion Hold = iota
	HeldByRepair
	HeldByForeignDisk
	HeldByPolicy
	holds
)

// Rollout is the state of an update.
type Rollout uint8

// Rollouts. A group without an update has RolloutNone.
const (
	RolloutNone Rollout = iota
	RolloutProgressing
	RolloutPaused
	RolloutStopped
	rollouts
)

// Shape has the counts of one group. Shapes of groups with equal counts are equal.
type Shape struct {
	State State
	// Reason of condition Ready; empty if the group is ready.
	Reason string
	// Since is when the group stopped being ready. It is zero for a group that is ready, paused or held.
	Since   time.Time
	VMs     [vmStates]int32
	Desired int32
	Held    [holds]bool
	Rollout Rollout
}

// Of returns the shape of a group.
func Of(g *v1alpha1.VmGroup) Shape {
	s := Shape{State: stateOf(g), Held: holdsOf(g.Status.Conditions), Rollout: rolloutOf(g.Status.Conditions)}
	for i := range g.Status.VMs {
		s.VMs[vmStateOf(&g.Status.VMs[i])]++
	}
	paused := meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionPaused)
	if !paused && g.DeletionTimestamp == nil {
		s.Desired = g.Status.DesiredReplicas
	}
	ready := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionTrue {
		return s
	}
	s.Reason = v1alpha1.ReasonNotYetReconciled
	since := g.CreationTimestamp.Time
	if ready != nil {
		s.Reason = reasonOf(ready.Reason)
		// The API server gives a new group a condition from 1970.
		if at := ready.LastTransitionTime.Time; at.After(since) {
			since = at
		}
	}
	if !paused && !slices.Contains(s.Held[:], true) {
		s.Since = since
	}
	return s
}

func stateOf(g *v1alpha1.VmGroup) State {
	switch {
	case meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionUnattended):
		return Unattended
	case meta.IsStatusConditionTrue(g.Status.Conditions, v1alpha1.ConditionPaused):
		return Paused
	case g.DeletionTimestamp != nil:
		return Deleting
	case g.Status.Phase == v1alpha1.PhaseError:
		return Error
	case g.Status.Phase == v1alpha1.PhaseRunning:
		return Running
	}
	return Pending
}

// vmStateOf returns the state of a VM. Users of members can write any phase: an unknown phase counts as starting.
func vmStateOf(vm *v1alpha1.VMStatus) VMState {
	switch vm.Phase {
	case v1alpha1.VMReady:
		return VMReady
	case v1alpha1.VMStopped:
		return VMStopped
	case v1alpha1.VMDeleting:
		return VMDeleting
	case v1alpha1.VMLost:
		return VMLost
	case v1alpha1.VMUnhealthy:
		return VMUnhealthy
	case v1alpha1.VMFailed:
		return VMFailed
	}
	if vm.Incarnation > 0 {
		return VMRepairing
	}
	return VMStarting
}

func holdsOf(conditions []metav1.Condition) (held [holds]bool) {
	for i := range conditions {
		switch c := &conditions[i]; c.Reason {
		case v1alpha1.ReasonMassDeletion:
			held[HeldByMassDeletion] = true
		case v1alpha1.ReasonRepairHeld:
			held[HeldByRepair] = true
		case v1alpha1.ReasonForeignDisk:
			held[HeldByForeignDisk] = true
		case v1alpha1.ReasonPolicyViolated, v1alpha1.ReasonQuotaExceeded:
			held[HeldByPolicy] = held[HeldByPolicy] || c.Type == v1alpha1.ConditionPolicyCompliant && c.Status == metav1.ConditionFalse
		}
	}
	return held
}

func rolloutOf(conditions []metav1.Condition) Rollout {
	c := meta.FindStatusCondition(conditions, v1alpha1.ConditionUpToDate)
	if c == nil {
		return RolloutNone
	}
	switch c.Reason {
	case v1alpha1.ReasonRolloutProgressing:
		return RolloutProgressing
	case v1alpha1.ReasonRolloutPaused:
		return RolloutPaused
	case v1alpha1.ReasonRolloutStopped:
		return RolloutStopped
	}
	return RolloutNone
}
