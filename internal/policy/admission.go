package policy

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// Findings are the results of the checks of a group's spec.
type Findings struct {
	// Spec of the group, and its revision.
	Spec     v1alpha1.VmGroupSpec
	Revision string
	// Admitted is the last admitted state, or nil if none is known.
	Admitted *v1alpha1.Admitted
	// Unrecorded is the remedy if the group was possibly admitted without a record, or is empty. It affects only messages.
	Unrecorded string
	// Existing is the number of VMs that the group has. It affects only messages.
	Existing int32
	// Standing is the number of VMs with the revision of spec, if that revision has another shape than the admitted one.
	Standing int32
	// Violations of spec. Those that are not enforced appear in messages and have no other effect.
	Violations []Violation
	// Denials are the references in spec that grants refuse.
	Denials []Denial
	// Quota has the violations of quotas.
	Quota []Violation
	// Unavailable explains why policies or quotas cannot be read; empty if they can.
	Unavailable string
	// Unresolved is true if spec is incomplete, or a reference in spec was not found or not looked up. Such a spec is neither allowed nor refused.
	// The planner uses it, since it yields no clones, but it is not admitted.
	Unresolved bool
}

// Admission is the part of its spec that a group can follow.
type Admission struct {
	// Spec for the planner: that of the group, or one with the last admitted replicas and shape.
	Spec v1alpha1.VmGroupSpec
	// Admitted must be stored before any action for Spec. It is nil if nothing was ever admitted.
	Admitted *v1alpha1.Admitted
	// Held is true if the group does not follow a part of its spec.
	Held bool
	// Reshaped is true if Spec has another shape than the group's spec.
	Reshaped bool
	// NoCreate is true if no VM can be cloned, because nothing was ever admitted.
	NoCreate bool
	// Terminal is true if the group stays held until a person acts.
	Terminal bool
	// Status, Reason and Message are condition PolicyCompliant.
	Status  metav1.ConditionStatus
	Reason  string
	Message string
}

// Decide returns the part of its spec that a group can follow. An allowed spec is admitted. A group with a refused spec is held: lost VMs return in
// the admitted shape, the group can shrink, and it neither grows nor changes. A policy never removes a running VM. The power state, the scale-down
// order, readiness, repair, pause and the deletion policy always follow spec.
func Decide(v Findings) Admission {
	v.Violations = v.judged()
	reason, refusals := v.refusals()
	replicas := replicasOf(&v.Spec)
	if reason == "" && v.Unavailable == "" && !v.Unresolved {
		return v.allow(replicas)
	}
	a := Admission{Spec: v.Spec, Admitted: v.Admitted.DeepCopy()}
	if a.Admitted != nil && a.Admitted.CPU == 0 {
		a.Admitted = nil // it has no shape, so no VM can be cloned from it
	}
	if a.Admitted != nil && !absent(&v.Spec) { // a user who removed the whole spec gave up no replicas
		a.Admitted.Replicas = min(a.Admitted.Replicas, max(replicas, 0))
	}
	same := a.Admitted != nil && v.Spec.HasShape(a.Admitted.VMShape)
	within := same && v.Admitted.Replicas >= replicas
	if same {
		a.Admitted.Revision = v.Revision // another version of the operator can compute it differently
	}
	switch {
	case reason == "" && v.Unavailable != "":
		a.unavailable(v, within)
	case reason == "":
		a.Status, a.Reason = metav1.ConditionUnknown, v1alpha1.ReasonNotChecked
		a.Message = "Spec could not be checked: it is not complete, or something that it names could not be looked up; see condition Ready."
	default:
		a.refuse(v, reason, refusals, within)
	}
	return a
}

// allow admits spec.
func (v Findings) allow(replicas int32) Admission {
	a := Admission{
		Spec: v.Spec, Admitted: admit(v.Spec, v.Revision, replicas), Status: metav1.ConditionTrue,
		Reason: v1alpha1.ReasonPolicyAllows, Message: "Grants, policies and quotas allow what spec asks for.",
	}
	if remarks := sentences(v.Violations, v.Quota); remarks != "" {
		a.Message = "Allowed, although policies that only warn, or that hold for new groups only, are broken: " + remarks + "."
	}
	return a
}

// Refused reports whether spec is refused, so that quotas need not be checked.
func (v Findings) Refused() bool {
	return len(v.Denials) > 0 || anyEnforced(v.judged()) || anyEnforced(v.Quota)
}

// judged returns the violations that count for this group. A minimum of replicas applies to new groups only: [Set.EvaluateUpdate] never refuses an
// edit because of it, so no admitted group is held because of it either. A group whose record the hub has lost is not new.
func (v Findings) judged() []Violation {
	existed := v.Unrecorded != "" || v.Admitted != nil && v.Admitted.CPU > 0
	if !existed || !slices.ContainsFunc(v.Violations, Violation.tooFew) {
		return v.Violations
	}
	out := slices.Clone(v.Violations)
	for i := range out {
		if out[i].tooFew() {
			out[i].Enforced = false
		}
	}
	return out
}

// refusals returns the reason to refuse spec, or "", and the message.
func (v Findings) refusals() (reason, words string) {
	var all []string
	for _, d := range v.Denials {
		all = append(all, d.Field+": "+d.Message)
	}
	for _, violations := range [][]Violation{v.Violations, v.Quota} {
		for _, violation := range violations {
			if violation.Enforced {
				all = append(all, violation.Error())
			}
		}
	}
	switch {
	case len(all) == 0:
		return "", ""
	case len(v.Denials) > 0:
		reason = v1alpha1.ReasonNotGranted
	case anyEnforced(v.Violations):
		reason = v1alpha1.ReasonPolicyViolated
	default:
		reason = v1alpha1.ReasonQuotaExceeded
	}
	return reason, strings.Join(all, "; ")
}

// refuse holds a group whose spec is refused. If spec is within the admitted state, refuse holds back nothing.
func (a *Admission) refuse(v Findings, reason, words string, within bool) {
	a.Status, a.Reason = metav1.ConditionFalse, reason
	switch {
	case within && reason == v1alpha1.ReasonNotGranted:
		a.Message = words
	case within:
		a.Reason = v1alpha1.ReasonPolicyTightened
		a.Message = words + ". What runs was admitted before, and is kept and repaired; the group may shrink, but grows or changes only once spec complies."
	case a.Admitted != nil && v.stands():
		a.stand(v, reason, words)
	case a.Admitted != nil:
		a.hold(v.Spec)
		a.Terminal = true
		a.Message = fmt.Sprintf("%s. The group is held at what was admitted before: %s.%s Change spec to what is allowed, or %s.",
			words, Describe(*a.Admitted), v.mixed(), remedy(reason))
	default:
		a.NoCreate, a.Terminal = true, true
		a.Held = v.Existing < replicasOf(&v.Spec)
		a.Message = fmt.Sprintf("%s. Nothing was admitted before, so no VM is cloned and none is removed. Change spec to what is allowed, or %s.",
			words, remedy(reason))
		if v.Unrecorded != "" {
			a.Message = fmt.Sprintf("%s. The group is held at what exists: no VM is cloned and none is removed. Change spec to what is allowed, or %s. %s", words, remedy(reason), v.Unrecorded)
		}
	}
}

// unavailable holds a group that asks for more than was admitted, while its policies or quotas cannot be checked.
func (a *Admission) unavailable(v Findings, within bool) {
	a.Status, a.Reason = metav1.ConditionUnknown, v1alpha1.ReasonPolicyUnavailable
	a.Message = v.Unavailable + ". "
	switch {
	case within:
		a.Message += "What was admitted before is kept and repaired."
	case a.Admitted != nil:
		a.hold(v.Spec)
		a.Message += fmt.Sprintf("Until then the group is held at what was admitted before: %s.", Describe(*a.Admitted))
	default:
		a.NoCreate = true
		a.Held = v.Existing < replicasOf(&v.Spec)
		a.Message += "Nothing was admitted before, so no VM is cloned until then."
	}
}

// hold sets Spec to the admitted state.
func (a *Admission) hold(spec v1alpha1.VmGroupSpec) {
	a.Held = true
	a.Reshaped = !spec.HasShape(a.Admitted.VMShape)
	a.Spec = AdmittedSpec(spec, *a.Admitted)
	if replicas := replicasOf(&spec); replicas < a.Admitted.Replicas {
		a.Spec.Replicas = &replicas // the planner reports negative replicas
	}
}

// AdmittedSpec returns spec with the admitted replicas and shape.
func AdmittedSpec(spec v1alpha1.VmGroupSpec, admitted v1alpha1.Admitted) v1alpha1.VmGroupSpec {
	spec.Replicas = &admitted.Replicas
	spec.SetShape(admitted.VMShape)
	return spec
}

func admit(spec v1alpha1.VmGroupSpec, revision string, replicas int32) *v1alpha1.Admitted {
	return &v1alpha1.Admitted{Revision: revision, Replicas: replicas, VMShape: spec.Shape()}
}

func anyEnforced(violations []Violation) bool {
	for _, v := range violations {
		if v.Enforced {
			return true
		}
	}
	return false
}

func sentences(all ...[]Violation) string {
	var words []string
	for _, violations := range all {
		for _, v := range violations {
			words = append(words, v.Error())
		}
	}
	return strings.Join(words, "; ")
}

// Describe describes an admitted state for messages.
func Describe(a v1alpha1.Admitted) string {
	vms := fmt.Sprintf("%d VMs", a.Replicas)
	if a.Replicas == 1 {
		vms = "1 VM"
	}
	sockets := ""
	if a.CoresPerSocket != 0 {
		sockets = fmt.Sprintf(", coresPerSocket %d", a.CoresPerSocket)
	}
	disk := ""
	if n := a.RootDiskGiB(); n != 0 {
		disk = fmt.Sprintf(", root disk %d GiB", n)
	}
	for _, d := range a.DataDisks() {
		disk += fmt.Sprintf(", data disk %.32q %d GiB", d.Name, d.SizeGiB)
	}
	return fmt.Sprintf("%s with cpu %d%s%s and memory %d GiB from template %q", vms, a.CPU, sockets, disk, a.Memory, a.Template)
}

func remedy(reason string) string {
	switch reason {
	case v1alpha1.ReasonNotGranted:
		return "ask a hub administrator for a grant"
	case v1alpha1.ReasonQuotaExceeded:
		return "shrink or delete other groups, or ask a hub administrator for more; the group continues automatically once there is room"
	default:
		return "ask a hub administrator to change the policy"
	}
}
