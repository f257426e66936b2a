package vcenter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	orphaned "github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/logins"
)

const notConnected = "The operator is not connected to this vCenter; see condition Ready."

const (
	// maxMessage limits the message of a condition, maxVersion the version of a vCenter, and maxServer its address, in bytes.
	maxMessage = 8192
	maxVersion = 64
	maxServer  = 512
)

// condition is one wanted condition.
type condition struct {
	conditionType   string
	status          metav1.ConditionStatus
	reason, message string
}

// look is the state of a VCenter's connections.
type look struct {
	health vsphere.Health
	// server is the address of the connection in use, or "".
	server string
	// candidate is the health of a connection with new settings that waits to replace the current one, or nil.
	candidate *vsphere.Health
	// another is true if the candidate is connected to a vCenter other than the one that holds the known VMs.
	another bool
	// doubtful is true while it is unknown whether an empty root folder is correct.
	doubtful bool
	// orphans are the deleted groups with VMs here, and released those whose VMs were kept.
	orphans, released []orphaned.Group
	// decided is true if these are certainly all of them.
	decided bool
	// strays are VMs with this installation's stamp outside of the root folder.
	strays vsphere.Strays
	// defaults is the reason why the defaults for groups cannot be found, or nil.
	defaults error
}

// judged returns the generation that status describes: the former one while the result of a connection with new settings is unknown.
func (l look) judged(vc *v1alpha1.VCenter) int64 {
	if l.server != "" && l.candidate != nil && !l.candidate.Reachable && l.candidate.Err == nil {
		return max(vc.Status.ObservedGeneration, 0) // conditions do not permit -1
	}
	return vc.Generation
}

// served returns the settings in use, as the beginning of a message about new settings that do not work. Without a connection in use it returns
// "".
func (l look) served() string {
	if l.server == "" || !l.health.Reachable {
		return ""
	}
	return fmt.Sprintf("The settings are not in effect. The connection to %s that was made with the former ones is still used, until the operator restarts. ", l.server)
}

// newStatus derives a VCenter's status. It is pure.
func newStatus(vc *v1alpha1.VCenter, l look, now time.Time) v1alpha1.VCenterStatus {
	health, candidate := l.health, l.candidate
	s := *vc.Status.DeepCopy()
	s.ObservedGeneration = l.judged(vc)
	if health.Reachable && l.server != "" {
		s.Server = untrusted.Text(l.server, maxServer)
		if p := health.Place; !p.Root.IsZero() {
			s.Root = &v1alpha1.VCenterRoot{InstanceUUID: p.InstanceUUID, Datacenter: p.Datacenter, Folder: p.Folder, MoRef: p.Root.Value}
		}
	}
	if health.Version != "" && !l.another {
		s.Version, s.InstanceUUID = untrusted.Text(health.Version, maxVersion), health.InstanceUUID
	}
	if health.Reachable && health.Complete && !l.another {
		s.Templates, s.VMs, s.RunningTasks = int32(health.Templates), int32(health.VMs), int32(health.RunningTasks)
	}
	conditions := make([]condition, 0, 4)
	conditions = append(conditions, credentials(vc, health, candidate), inventory(health), privileges(health))
	condition := ready(l, conditions)
	if l.another {
		condition.status, condition.reason = metav1.ConditionFalse, v1alpha1.ReasonAnotherVCenter
		condition.message = l.served() + fmt.Sprintf("The server that is configured now is another vCenter (instance %s) than the one that %d VMs are known in (instance %s); it is not used. "+
			"Set spec.server, or VC_HOST in the Secret, back; use a new VCenter for another server; or, if that vCenter was rebuilt with its VMs, annotate this one with %s=%s",
			l.candidate.InstanceUUID, vc.Status.VMs, vc.Status.InstanceUUID, v1alpha1.AcceptInstanceAnnotation, l.candidate.InstanceUUID)
	}
	conditions = append(conditions, condition)
	if c, known := reachable(health, condition); known {
		conditions = append(conditions, c)
	}
	if len(l.orphans) > 0 {
		conditions = append(conditions, orphanedVMs(l.orphans))
	} else if l.decided {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionOrphanedVMs)
	}
	if stray, known := strayVMs(l.strays); known && stray.reason != "" {
		conditions = append(conditions, stray)
	} else if known {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionStrayVMs)
	}
	if len(l.released) > 0 {
		conditions = append(conditions, releasedVMs(l.released))
	} else if l.decided {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionKeptVMs)
	}
	if named := vc.Annotations[v1alpha1.PredecessorAnnotation]; named == "" {
		meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionPredecessorGone)
	} else {
		conditions = append(conditions, predecessor(named, health))
	}
	apply(&s, s.ObservedGeneration, now, conditions)
	setAllowances(&s, vc, now)
	if health.Reachable {
		setNotice(&s, vc, now, v1alpha1.ConditionPlaceUncertain, placeNotice(health.PlaceProblem))
	}
	return s
}

// notice is the reason and message of a condition that exists only while it is true. The zero value means none.
type notice struct {
	reason, message string
}

// setNotice sets such a condition, or removes it.
func setNotice(s *v1alpha1.VCenterStatus, vc *v1alpha1.VCenter, now time.Time, conditionType string, n notice) {
	if n != (notice{}) {
		apply(s, vc.Generation, now, []condition{{conditionType, metav1.ConditionTrue, n.reason, n.message}})
		return
	}
	meta.RemoveStatusCondition(&s.Conditions, conditionType)
}

// setAllowances reports problems of the annotation that allows an action temporarily.
func setAllowances(s *v1alpha1.VCenterStatus, vc *v1alpha1.VCenter, now time.Time) {
	if problem, _ := allowance.Problem("vcenter", vc, now, v1alpha1.AllowForgetAnnotation); problem != "" {
		apply(s, vc.Generation, now, []condition{{v1alpha1.ConditionInvalidAllowances, metav1.ConditionTrue, v1alpha1.ReasonAllowanceInvalid, problem}})
		return
	}
	meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionInvalidAllowances)
}

// predecessor reports whether the VMs of the named predecessor can be stamped anew.
func predecessor(named string, health vsphere.Health) condition {
	switch {
	case health.Predecessor == named:
		return condition{v1alpha1.ConditionPredecessorGone, metav1.ConditionTrue, v1alpha1.ReasonNoSignOfLife, fmt.Sprintf(
			"Installation %s has no session here. The VMs that it stamped are stamped anew, for groups of members that name it as well. "+
				"Remove the annotation %s when no group waits any more", named, v1alpha1.PredecessorAnnotation)}
	case health.PredecessorProblem != "":
		return condition{v1alpha1.ConditionPredecessorGone, metav1.ConditionFalse, v1alpha1.ReasonPredecessorLives,
			"No VM is stamped anew: " + health.PredecessorProblem}
	default:
		return condition{v1alpha1.ConditionPredecessorGone, metav1.ConditionUnknown, v1alpha1.ReasonConnecting,
			"The operator has not searched yet for sessions of installation " + named}
	}
}

// blockedStatus returns the status of a VCenter without a possible new connection. An earlier connection can still serve.
func blockedStatus(vc *v1alpha1.VCenter, l look, reason, message string, now time.Time) v1alpha1.VCenterStatus {
	s := *vc.Status.DeepCopy()
	s.ObservedGeneration = vc.Generation
	answers := condition{v1alpha1.ConditionReachable, metav1.ConditionUnknown, reason, notConnected}
	if l.server != "" && l.health.Reachable {
		answers = reachableNow
	}
	apply(&s, vc.Generation, now, []condition{{v1alpha1.ConditionReady, metav1.ConditionFalse, reason, l.served() + message}, answers})
	setAllowances(&s, vc, now)
	return s
}

var reachableNow = condition{v1alpha1.ConditionReachable, metav1.ConditionTrue, v1alpha1.ReasonConnected, "vCenter answers."}

// reachable reports whether the server answers. The condition's lastTransitionTime is the start of an outage, which decides when a group can be
// forgotten. Right after a start the state is unknown, and the earlier one is kept. A server that refuses the login, or whose certificate is
// refused, is not unreachable.
func reachable(health vsphere.Health, ready condition) (c condition, known bool) {
	switch {
	case health.Reachable:
		return reachableNow, true
	case health.Err == nil:
		return condition{}, false
	case ready.reason != v1alpha1.ReasonUnreachable:
		return condition{v1alpha1.ConditionReachable, metav1.ConditionUnknown, ready.reason, notConnected}, true
	}
	return condition{v1alpha1.ConditionReachable, metav1.ConditionFalse, v1alpha1.ReasonUnreachable, "vCenter does not answer; condition Ready has the error."}, true
}

func apply(s *v1alpha1.VCenterStatus, generation int64, now time.Time, conditions []condition) {
	for _, v := range conditions {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: v.conditionType, Status: v.status, Reason: v.reason, Message: untrusted.Text(v.message, maxMessage),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
		})
	}
}

func credentials(vc *v1alpha1.VCenter, health vsphere.Health, candidate *vsphere.Health) condition {
	secret := vc.Spec.CredentialsSecretRef.Name
	if health.Reachable && candidate != nil && candidate.Err != nil && vsphere.KindOf(candidate.Err) == vsphere.KindCredentials {
		return condition{v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonInvalidLogin,
			fmt.Sprintf("User name and password in Secret %q do not work: %s. The session opened with the former ones is still used until it ends", secret, rejection(candidate.Err))}
	}
	switch {
	case health.Reachable:
		return condition{v1alpha1.ConditionCredentialsValid, metav1.ConditionTrue, v1alpha1.ReasonConnected, "The login works."}
	case health.Err != nil && vsphere.KindOf(health.Err) == vsphere.KindCredentials:
		return condition{v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonInvalidLogin,
			fmt.Sprintf("User name and password in Secret %q do not work: %s", secret, rejection(health.Err))}
	default:
		return condition{v1alpha1.ConditionCredentialsValid, metav1.ConditionUnknown, v1alpha1.ReasonConnecting, "No login has succeeded since the operator started or the connection was lost; see condition Ready."}
	}
}

// rejection describes how often the login was rejected, and the time of the next try.
func rejection(err error) string {
	var refused *logins.Refused
	if errors.As(err, &refused) {
		return refused.Error()
	}
	return "vCenter rejected them. Correct the Secret"
}

func inventory(health vsphere.Health) condition {
	switch {
	case health.SuddenlyEmpty && health.PlaceProblem.Kind == vsphere.VMsElsewhere:
		return condition{v1alpha1.ConditionInventoryComplete, metav1.ConditionFalse, v1alpha1.ReasonInventorySuddenlyEmpty, health.PlaceProblem.Message}
	case health.SuddenlyEmpty:
		return condition{v1alpha1.ConditionInventoryComplete, metav1.ConditionFalse, v1alpha1.ReasonInventorySuddenlyEmpty,
			fmt.Sprintf("The root folder held VMs and suddenly reads empty; nothing is created or deleted. If that is right, annotate this VCenter with %s=%s", v1alpha1.AcceptEmptyAnnotation, health.InstanceUUID)}
	case health.Complete:
		return condition{v1alpha1.ConditionInventoryComplete, metav1.ConditionTrue, v1alpha1.ReasonInventoryComplete, "Every VM below the root folder is known."}
	case !health.Reachable:
		return condition{v1alpha1.ConditionInventoryComplete, metav1.ConditionUnknown, v1alpha1.ReasonUnreachable, notConnected}
	default:
		return condition{v1alpha1.ConditionInventoryComplete, metav1.ConditionFalse, v1alpha1.ReasonInventoryIncomplete, health.Incomplete}
	}
}

func privileges(health vsphere.Health) condition {
	switch {
	case len(health.MissingPrivileges) > 0:
		return condition{v1alpha1.ConditionPrivilegesSufficient, metav1.ConditionFalse, v1alpha1.ReasonPrivilegesMissing,
			"The account lacks these privileges on the operator's root folder, unless another object is named: " + strings.Join(health.MissingPrivileges, ", ")}
	case vsphere.KindOf(health.Err) == vsphere.KindPermission:
		return condition{v1alpha1.ConditionPrivilegesSufficient, metav1.ConditionFalse, v1alpha1.ReasonPrivilegesMissing, health.Err.Error()}
	case health.Reachable:
		return condition{v1alpha1.ConditionPrivilegesSufficient, metav1.ConditionTrue, v1alpha1.ReasonPrivilegesSufficient, "No missing privilege was found."}
	default:
		return condition{v1alpha1.ConditionPrivilegesSufficient, metav1.ConditionUnknown, v1alpha1.ReasonUnreachable, notConnected}
	}
}

// problem returns the reason why a connection is impossible, except for a refused login.
func problem(err error) (reason, message string) {
	switch vsphere.KindOf(err) {
	case vsphere.KindCertificate:
		return v1alpha1.ReasonCertificateRefused, fmt.Sprintf("vCenter's certificate is not trusted: %v. Set spec.tls.caBundle or spec.tls.thumbprint", err)
	case vsphere.KindLimitExceeded:
		return v1alpha1.ReasonLimitExceeded, fmt.Sprintf(
			"The server sends more than the operator takes in, or does not end its answer: %v. Check that a vCenter answers at spec.server. The operator tries again every 30 seconds", err)
	case vsphere.KindNotFound, vsphere.KindAmbiguous, vsphere.KindSpec:
		return v1alpha1.ReasonInvalidConfiguration, err.Error()
	case vsphere.KindPermission:
		return v1alpha1.ReasonPrivilegesMissing, fmt.Sprintf("The account lacks a privilege: %v. The operator keeps trying", err)
	default:
		return v1alpha1.ReasonUnreachable, fmt.Sprintf("vCenter cannot be reached: %v. The operator keeps trying", err)
	}
}

func ready(l look, conditions []condition) condition {
	no := func(reason, message string) condition {
		return condition{v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message}
	}
	failed := l.health.Err
	if l.health.Reachable {
		failed = nil
		if l.candidate != nil {
			failed = l.candidate.Err
		}
	}
	switch {
	case failed == nil && !l.health.Reachable:
		return no(v1alpha1.ReasonConnecting, "Connecting to vCenter.")
	case failed == nil:
	case vsphere.KindOf(failed) == vsphere.KindCredentials:
		return no(v1alpha1.ReasonInvalidLogin, l.served()+conditions[0].message)
	default:
		reason, message := problem(failed)
		if reason == v1alpha1.ReasonUnreachable && !l.health.Reachable {
			message += "; its groups are left as they are"
		}
		return no(reason, l.served()+message)
	}
	for _, v := range conditions {
		if v.status == metav1.ConditionFalse {
			return no(v.reason, v.message)
		}
	}
	if kind := vsphere.KindOf(l.defaults); kind == vsphere.KindNotFound || kind == vsphere.KindAmbiguous {
		return no(v1alpha1.ReasonInvalidConfiguration, fmt.Sprintf("spec.resourcePool, spec.datastore or spec.network: %v. Groups that name their own placement work", l.defaults))
	}
	return condition{v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonConnected, "Connected; the inventory is complete."}
}
