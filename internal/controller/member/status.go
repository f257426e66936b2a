package member

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/credential"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/install"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/kstatus"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
)

// maxMessage bounds the message of a condition, in bytes.
const maxMessage = 8192

// maxVersion bounds the version in a member's CRD, in bytes.
const maxVersion = 64

// counts of a member's groups and VMs.
type counts struct {
	groups, vms int
	// of which removals are held.
	heldGroups, heldVMs int
	// swept is the message about groups that are held because their CRD was deleted, or empty.
	swept string
}

// statusInput is the complete input of a MemberCluster's status.
type statusInput struct {
	name       string
	generation int64
	previous   v1alpha1.MemberClusterStatus
	// clusterUID is the cluster that the MemberCluster can have, "" while it has none.
	clusterUID string
	// config is the reason why there is no connection, or none that can act; nil if there is one.
	config *remote.Problem
	// seen by the connection; the zero value if there is none.
	seen link.Observation
	// counts to write; nil keeps the previous ones.
	counts *counts
	// admission: the operator manages admission objects; caBundle is the hash of the CA bundle that the member should have, "" if
	// none or not known.
	admission bool
	caBundle  string
	// allowanceProblem names the annotations that do not have their intended effect, or "".
	allowanceProblem string
	// held are the credentials of the kubeconfigs that could be read.
	held     []credential.Held
	orphaned orphaned
	now      time.Time
}

// computeStatus returns the status and whether Ready changed its status or reason. Unknown values keep their last known value:
// a member that does not answer has not lost its claim, CRD, groups or VMs.
func computeStatus(in statusInput) (status v1alpha1.MemberClusterStatus, transition bool) {
	status = *in.previous.DeepCopy()
	status.ClusterUID = in.clusterUID
	if in.config == nil {
		if in.seen.KubernetesVersion != "" {
			status.KubernetesVersion = in.seen.KubernetesVersion
		}
		if in.seen.CRD != nil {
			status.CRDVersion = untrusted.Text(in.seen.CRDVersion, maxVersion)
		}
		if in.seen.Acknowledged != nil {
			status.CABundleHash, status.SegmentPeriod = *in.seen.Acknowledged, in.seen.Segment
		}
	}
	if in.counts != nil {
		status.Groups, status.VMs = int32(in.counts.groups), int32(in.counts.vms)
		status.HeldGroups, status.HeldVMs = int32(in.counts.heldGroups), int32(in.counts.heldVMs)
	}
	ready := readyCondition(in)
	before := meta.FindStatusCondition(in.previous.Conditions, v1alpha1.ConditionReady)
	transition = before == nil || before.Status != ready.Status || before.Reason != ready.Reason
	set(&status, in, ready)
	status.ObservedGeneration = meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).ObservedGeneration
	set(&status, in, findingCondition(in, v1alpha1.ConditionClaimed, in.seen.Claim))
	set(&status, in, findingCondition(in, v1alpha1.ConditionCRDInstalled, in.seen.CRD))
	if in.admission {
		set(&status, in, admissionCondition(in))
	}
	setCredentials(&status, in)
	setRestored(&status, in)
	setMassDeletion(&status, in)
	setCRDDeletion(&status, in)
	setAllowances(&status, in)
	setOrphans(&status, in)
	kstatus.Derive(&status.Conditions, in.now)
	if transition && !in.seen.LastContact.IsZero() {
		// The API keeps seconds; more would look like a change after each round trip.
		status.LastContactTime = &metav1.Time{Time: in.seen.LastContact.Truncate(time.Second)}
	}
	return status, transition
}

// set writes a condition. A kept condition does not claim a newer generation: its effect is not known yet.
func set(status *v1alpha1.MemberClusterStatus, in statusInput, condition metav1.Condition) {
	if condition.ObservedGeneration == 0 {
		condition.ObservedGeneration = in.generation
	}
	condition.Message = untrusted.Text(condition.Message, maxMessage)
	condition.LastTransitionTime = metav1.NewTime(in.now.Truncate(time.Second))
	meta.SetStatusCondition(&status.Conditions, condition)
}

func readyCondition(in statusInput) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	failed := in.config
	if failed == nil {
		failed = in.seen.Problem
	}
	switch {
	case failed != nil && failed.Waiting:
		return connectingCondition(in)
	case failed != nil:
		condition.Reason, condition.Message = failed.Reason, failed.Message
	case !in.seen.State.Serves():
		return connectingCondition(in)
	case in.seen.CRD != nil && !in.seen.CRD.OK:
		condition.Reason, condition.Message = in.seen.CRD.Reason, in.seen.CRD.Message
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, v1alpha1.ReasonEngaged
		condition.Message = "The member is connected and its VmGroups are served."
	}
	return condition
}

// connectingCondition is Ready before the first attempt of a connection has ended, or while it waits for the leader. A restart of the operator
// must not make every member flicker. So the last observed condition stays, unless it was about the kubeconfig, which has been replaced since.
func connectingCondition(in statusInput) metav1.Condition {
	before := meta.FindStatusCondition(in.previous.Conditions, v1alpha1.ConditionReady)
	if before != nil {
		switch before.Reason {
		case v1alpha1.ReasonKubeconfigNotFound, v1alpha1.ReasonKubeconfigRefused, v1alpha1.ReasonLocalDisabled:
		default:
			return *before
		}
	}
	return metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonConnecting,
		Message: "The operator is connecting to the member.",
	}
}

func findingCondition(in statusInput, conditionType string, found *install.Finding) metav1.Condition {
	if found != nil && in.config == nil {
		condition := metav1.Condition{
			Type: conditionType, Status: metav1.ConditionFalse, Reason: found.Reason, Message: found.Message,
		}
		if found.OK {
			condition.Status = metav1.ConditionTrue
		}
		return condition
	}
	if before := meta.FindStatusCondition(in.previous.Conditions, conditionType); before != nil {
		return *before
	}
	return metav1.Condition{
		Type: conditionType, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonConnecting,
		Message: "Not checked yet; see condition Ready.",
	}
}
