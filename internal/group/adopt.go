package group

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/massdeletion"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// adoptionInterval is when to look again while VMs are taken over: no event tells of VMs of another group.
	adoptionInterval = 5 * time.Second
	// maxUID bounds what can be a UID.
	maxUID = 64
)

// Adoption is what is known of the VMs that the group shall take over from a group that does not exist any more.
type Adoption struct {
	// From is the UID of that group, as the annotation says.
	From string
	// Seen is what its VMs are; Folders are the paths of the folders that they lie in.
	Seen    vsphere.Observation
	Folders map[vsphere.Ref]string
	// AllowedUntil is until when a hub administrator lets VMs be adopted for which there is no receipt, or zero.
	AllowedUntil time.Time
	// Answer is what became of the claim; nil until a Step asked for it.
	Answer *AdoptionAnswer
}

// AdoptionAnswer is what became of claiming the VMs of another group.
type AdoptionAnswer struct {
	// Blocked says why they are not the group's to take, or is nil.
	Blocked *plan.Blocker
	// Receipt is true if the hub has a receipt that says that the other group let its VMs go in this namespace. Listed are the references of the VMs in it.
	Receipt bool
	Listed  []vsphere.Ref
	// Group is the name of the other group, as far as it is known.
	Group string
}

// AdoptionOf returns what a group shall take over, or nil for nothing.
func AdoptionOf(of *v1alpha1.VmGroup) *Adoption {
	from := of.Annotations[v1alpha1.AdoptAnnotation]
	switch {
	case !of.DeletionTimestamp.IsZero(), from == "", from == v1alpha1.AdoptAbandon, from == v1alpha1.AdoptLegacy:
		return nil
	}
	return &Adoption{From: from}
}

// Malformed says why the annotation names no group that VMs could be taken from, or is empty.
func (a *Adoption) Malformed(of *v1alpha1.VmGroup) string {
	switch {
	case a.From == string(of.UID):
		return "is the UID of this VmGroup itself"
	case len(a.From) > maxUID || strings.ContainsAny(a.From, "/; \t\n"):
		return "is not a UID"
	}
	return ""
}

// adoptFrom is the UID that the annotation names, or empty.
func (s *Snapshot) adoptFrom() string {
	if s.Adoption == nil {
		return ""
	}
	return s.Adoption.From
}

// claims decides whether VMs of another group have to be claimed first. Nothing is asked for a group that has taken all that it has room for.
func (s *Snapshot) claims() Decision {
	a := s.Adoption
	if a == nil || a.Answer != nil || s.Paused != nil || s.Unavailable != nil || !s.Observation.Complete || a.Malformed(s.Group) != "" {
		return Decision{}
	}
	if s.Group.Status.AdoptedFrom == a.From && (s.full() || len(a.stamped(s.ID))+len(a.released(s.Group.Namespace)) == 0) {
		return Decision{}
	}
	return Decision{Step: ClaimAdoption}
}

// full reports whether the group has as many VMs as it wants.
func (s *Snapshot) full() bool { return s.existing() >= ptr.Deref(s.Group.Spec.Replicas, 1) }

// stamped are the VMs that carry the other group's stamp. One with a tombstone is never revived, and of a template nothing can be changed.
func (a *Adoption) stamped(id vsphere.GroupID) (vms []vsphere.VM) {
	for _, vm := range a.Seen.VMs {
		if s := vm.Stamp; s != nil && s.GroupID == a.id(id) && !vm.Tombstone && !vm.IsTemplate {
			vms = append(vms, vm)
		}
	}
	return vms
}

// released are the VMs that the other group released, if it was of this namespace.
func (a *Adoption) released(namespace string) (vms []vsphere.VM) {
	for _, vm := range a.Seen.Released {
		if vm.Released.Namespace == namespace && !vm.IsTemplate {
			vms = append(vms, vm)
		}
	}
	return vms
}

// id of the other group, which is of the same member and installation.
func (a *Adoption) id(own vsphere.GroupID) vsphere.GroupID {
	return vsphere.GroupID{Installation: own.Installation, Member: own.Member, Group: a.From}
}

// at reports whether a folder is where the other group's was: in this namespace, with its UID in the name.
func (s *Snapshot) at(folder string) bool {
	return strings.HasSuffix(path.Dir(folder), "/"+path.Join(s.Member, s.Group.Namespace)) &&
		strings.HasSuffix(path.Base(folder), FolderName("", types.UID(s.Adoption.From)))
}

// toAdopt is what the plan is to know of the adoption.
func (s *Snapshot) toAdopt(admission policy.Admission) *plan.Adoption {
	a := s.Adoption
	if a == nil {
		return nil
	}
	out := &plan.Adoption{From: a.From}
	switch problem := a.Malformed(s.Group); {
	case problem != "":
		out.Waits = s.refusesAdoption("Annotation " + v1alpha1.AdoptAnnotation + " " + problem)
	case a.Answer == nil && s.Group.Status.AdoptedFrom == a.From:
		return nil
	case a.Answer == nil:
		out.Waits = waits("It is not known yet which VMs there are to take over")
	case a.Answer.Blocked != nil:
		out.Waits = a.Answer.Blocked
	case !a.Seen.Complete || len(a.Seen.InFlight) > 0:
		out.Waits = waits(cmp.Or(a.Seen.Incomplete, "vCenter is still busy with VMs of that group"))
	case s.takesOver() && (admission.Held || admission.NoCreate):
		out.Waits = BlockerOf(admission)
	default:
		out.Candidates, out.Waits = s.candidates()
	}
	return out
}

// takesOver reports whether there are VMs to take over and room for them. Until they are taken, nothing is asked of quotas but for what the group has:
// the VMs count for the other group until they carry this one's stamp, and for this one from then on.
func (s *Snapshot) takesOver() bool {
	a := s.Adoption
	return a != nil && a.Answer != nil && a.Answer.Blocked == nil && !s.full() && len(a.stamped(s.ID))+len(a.released(s.Group.Namespace)) > 0
}

func waits(why string) *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionWaits, Message: why + "; nothing is cloned or removed until that is known"}
}

// refusesAdoption says that nothing is taken over, and what to do.
func (s *Snapshot) refusesAdoption(why string) *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused, Terminal: true, Message: fmt.Sprintf(
		"%s, so no VM is taken over, and none is cloned until that is put right. Set it to the metadata.uid of a deleted VmGroup of this namespace, or remove it: kubectl annotate vmgroup %s -n %s %s-",
		why, s.Group.Name, s.Group.Namespace, v1alpha1.AdoptAnnotation)}
}

// candidates are the VMs that the group may take. What only a hub administrator can allow is not among them, and is told.
func (s *Snapshot) candidates() (all []plan.Candidate, told *plan.Blocker) {
	a := s.Adoption
	allowed := a.Answer.Receipt
	if !allowed {
		allowed, _ = massdeletion.Allows(a.AllowedUntil, s.Now)
	}
	var orphans []string
	for _, vm := range a.genuine(a.stamped(s.ID), a.listed) {
		switch {
		case allowed && (a.Answer.Receipt || s.at(a.Folders[vm.Folder])):
			stamp := *vm.Stamp
			all = append(all, plan.Candidate{VM: vm, Origin: vsphere.Origin{Stamp: &stamp}, Ordinal: stamp.Ordinal, Revision: stamp.Revision})
		case s.at(a.Folders[vm.Folder]) && !s.full():
			orphans = append(orphans, vm.Name)
		}
	}
	for _, vm := range a.genuine(a.released(s.Group.Namespace), func(vsphere.VM) bool { return false }) {
		mark := *vm.Released
		all = append(all, plan.Candidate{VM: vm, Origin: vsphere.Origin{Released: &mark}, Ordinal: mark.Ordinal, Revision: mark.Revision})
	}
	if len(orphans) > 0 && len(all) == 0 {
		return nil, &plan.Blocker{Reason: v1alpha1.ReasonAdoptionNotAllowed, Terminal: true, Message: fmt.Sprintf(
			"The VmGroup with UID %s is gone and has not released its VMs: %s. That they may be taken over is for a hub administrator to say: "+
				"kubectl annotate membercluster %s --overwrite %s=$(date -u -d +30min +%%FT%%TZ). Until then no VM is cloned; to do without them, remove the annotation: kubectl annotate vmgroup %s -n %s %s-",
			a.From, list(orphans, 8), s.Member, v1alpha1.AllowAdoptionAnnotation, s.Group.Name, s.Group.Namespace, v1alpha1.AdoptAnnotation)}
	}
	return all, nil
}

func (a *Adoption) listed(vm vsphere.VM) bool { return slices.Contains(a.Answer.Listed, vm.Ref) }

// genuine leaves out copies that somebody made: of VMs that had the same ordinal only those count that the receipt lists, or that have the instance
// UUID of a VM of the group. If none has, there is no telling, unless there is one alone.
func (a *Adoption) genuine(vms []vsphere.VM, listed func(vsphere.VM) bool) []vsphere.VM {
	ordinal := func(vm vsphere.VM) int32 {
		if vm.Stamp != nil {
			return vm.Stamp.Ordinal
		}
		return vm.Released.Ordinal
	}
	proven, of := map[int32]bool{}, map[int32]int{}
	certain := make([]bool, len(vms))
	for i, vm := range vms {
		certain[i] = listed(vm) || vm.Stamp != nil && plan.Genuine(a.From, &vm) || vm.Stamp == nil && plan.WasGenuine(a.From, ordinal(vm), vm.InstanceUUID)
		proven[ordinal(vm)] = proven[ordinal(vm)] || certain[i]
		of[ordinal(vm)]++
	}
	var out []vsphere.VM
	for i, vm := range vms {
		if certain[i] || !proven[ordinal(vm)] && of[ordinal(vm)] == 1 {
			out = append(out, vm)
		}
	}
	return out
}

// ends reports whether the adoption ends with this plan, which is told once.
func (s *Snapshot) ends(in *plan.Adoption, p *plan.Plan) bool {
	return in != nil && in.Waits == nil && p.Adopting == 0 && s.Paused == nil && s.Observation.Complete && s.Group.Status.AdoptedFrom != in.From
}

// setAdopted tells how far the adoption is.
func setAdopted(s *v1alpha1.VmGroupStatus, f Facts, set func(conditionType string, status metav1.ConditionStatus, reason, message string)) {
	a := f.Adoption
	switch {
	case f.AdoptFrom == "":
		drop(s, v1alpha1.ConditionAdopted)
		s.AdoptedFrom = ""
	case a == nil || !f.Complete:
		// It stays what it was.
	case a.Waits != nil:
		set(v1alpha1.ConditionAdopted, metav1.ConditionFalse, a.Waits.Reason, a.Waits.Message)
	case f.Plan.Adopting > 0:
		set(v1alpha1.ConditionAdopted, metav1.ConditionFalse, v1alpha1.ReasonAdopting, fmt.Sprintf(
			"Taking over VMs of the VmGroup with UID %s: %d to go%s", a.From, f.Plan.Adopting, leftToAdopt(f.Plan.LeftToAdopt)))
	case f.AdoptionEnds || s.AdoptedFrom == a.From:
		s.AdoptedFrom = a.From
		set(v1alpha1.ConditionAdopted, metav1.ConditionTrue, v1alpha1.ReasonAdoptionEnded, fmt.Sprintf(
			"Nothing is left to be taken over from the VmGroup with UID %s%s", a.From, leftToAdopt(f.Plan.LeftToAdopt)))
	}
}

// leftToAdopt tells of VMs that the group has no room for.
func leftToAdopt(n int32) string {
	if n == 0 {
		return "."
	}
	return fmt.Sprintf(", but for %s that spec.replicas leaves no room for. Nothing is done to them; raise spec.replicas by %d to take them over, too.", vmCount(n), n)
}

func vmCount(n int32) string {
	if n == 1 {
		return "1 VM"
	}
	return fmt.Sprintf("%d VMs", n)
}
