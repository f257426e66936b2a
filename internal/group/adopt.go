package group

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group/allowance"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const (
	// AdoptionInterval is the interval between checks during an adoption: no event reports VMs of another group.
	AdoptionInterval = 5 * time.Second
	// legacyPrefix and the group's UID mark VMs of the original operator until they carry the group's stamp.
	legacyPrefix = "legacy-"
)

// Adoption is the known state of the VMs that the group adopts from a group that no longer exists.
type Adoption struct {
	// Legacy is true for VMs of the original operator. They carry no mark and lie in a folder that the hub grants. Claimed ones carry the mark of a group that never existed.
	Legacy bool
	// From is the UID of the previous group in the annotation.
	From string
	// Seen has the VMs of the previous group. Folders has the paths of their folders.
	Seen    vsphere.Observation
	Folders map[vsphere.Ref]vsphere.FolderPath
	// AllowedUntil is the time until which a hub administrator allows to adopt VMs without a receipt, or zero.
	AllowedUntil time.Time
	// Answer is the result of the claim; nil until a Step asked for it.
	Answer *AdoptionAnswer
}

// AdoptionAnswer is the result of a claim of another group's VMs.
type AdoptionAnswer struct {
	// Blocked explains why the group cannot adopt them, or is nil.
	Blocked *plan.Blocker
	// Claimed is true if no other group can adopt them.
	Claimed bool
	// Receipt is true if the hub has a receipt that shows that the other group kept its VMs in this namespace. Listed has the references of the VMs in it.
	Receipt bool
	Listed  []vsphere.Ref
	// Group is the name of the other group, if known.
	Group string
	// Folder is the content of the folder that the hub grants, for Legacy.
	Folder *vsphere.FolderContent
}

// AdoptionOf returns the adoption that a group asks for, or nil.
func AdoptionOf(of *v1alpha1.VmGroup) *Adoption {
	from := of.Annotations[v1alpha1.AdoptAnnotation]
	switch {
	case !of.DeletionTimestamp.IsZero(), from == "", from == v1alpha1.AdoptAbandon:
		return nil
	case from == v1alpha1.AdoptLegacy:
		return &Adoption{Legacy: true, From: legacyPrefix + string(of.UID)}
	}
	return &Adoption{From: from}
}

// Malformed explains why the annotation names no group to adopt VMs from, or returns "".
func (a *Adoption) Malformed(of *v1alpha1.VmGroup) string {
	switch {
	case a.Legacy:
	case a.From == string(of.UID):
		return "is the UID of this VmGroup itself"
	case !isUID(a.From):
		return "is not a UID"
	}
	return ""
}

// isUID reports whether an API server can have given this UID to an object.
func isUID(s string) bool {
	const form = "00000000-0000-0000-0000-000000000000"
	for i, c := range s {
		if i >= len(form) || (c == '-') != (form[i] == '-') || c != '-' && !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return len(s) == len(form)
}

// adoptFrom returns the UID in the annotation, or "".
func (s *Snapshot) adoptFrom() string {
	if s.Adoption == nil {
		return ""
	}
	return s.Adoption.From
}

// claims decides whether VMs of another group must be claimed first. A group that has adopted all VMs that it has room for, and has recorded that, needs no claim.
func (s *Snapshot) claims() Decision {
	a := s.Adoption
	if a == nil || a.Answer != nil || s.Paused != nil || s.Unavailable != nil || !s.Observation.Complete || a.Malformed(s.Group) != "" {
		return Decision{}
	}
	if s.Group.Status.AdoptedFrom == a.From && !s.takingOver() && (s.full() || a.Legacy && !s.leftVMs() || !a.Legacy && len(a.stamped(s.ID))+len(a.released(s.Group.Namespace)) == 0) {
		return Decision{}
	}
	return Decision{Step: ClaimAdoption}
}

// leftVMs reports whether VMs were left when the last adoption ended, or another adoption is in progress.
func (s *Snapshot) leftVMs() bool {
	is := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionAdopted)
	return is != nil && is.Reason != v1alpha1.ReasonAdoptionEnded
}

// takingOver reports whether status records an adoption in progress, including one after an earlier adoption had ended.
func (s *Snapshot) takingOver() bool {
	is := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionAdopted)
	return is != nil && is.Reason == v1alpha1.ReasonAdopting
}

// full reports whether the group has as many VMs as it wants.
func (s *Snapshot) full() bool { return s.existing() >= ptr.Deref(s.Group.Spec.Replicas, 1) }

// stamped returns the VMs that carry the other group's stamp. A VM with a tombstone is never revived, and a template cannot be changed.
func (a *Adoption) stamped(id vsphere.GroupID) (vms []vsphere.VM) {
	for _, vm := range a.Seen.VMs {
		if s := vm.Stamp; s != nil && s.GroupID == a.id(id) && !vm.Tombstone && !vm.IsTemplate {
			vms = append(vms, vm)
		}
	}
	return vms
}

// released returns the VMs that the other group released, if it was in this namespace.
func (a *Adoption) released(namespace string) (vms []vsphere.VM) {
	for _, vm := range a.Seen.Released {
		if vm.Released.Namespace == namespace && !vm.IsTemplate {
			vms = append(vms, vm)
		}
	}
	return vms
}

// id returns the ID of the other group, which has the same member and installation.
func (a *Adoption) id(own vsphere.GroupID) vsphere.GroupID {
	return vsphere.GroupID{Installation: own.Installation, Member: own.Member, Group: a.From}
}

// at reports whether a folder is at the place of the other group's folder: in this namespace, with its UID in the name. A VM that was moved for this group lies in the group's
// own folder.
func (s *Snapshot) at(folder vsphere.Ref) bool {
	if folder == s.FolderRef() {
		return true
	}
	place := s.Adoption.Folders[folder]
	return s.neighbor(place) && strings.HasSuffix(place.Leaf, FolderName("", s.AdoptsFrom()))
}

// AdoptedNames returns the possible names of the other group, derived from the folders of its VMs. A person can have renamed the folders.
func (s *Snapshot) AdoptedNames() (names []string) {
	for _, place := range s.Adoption.Folders {
		if name, found := strings.CutSuffix(place.Leaf, FolderName("", s.AdoptsFrom())); found && len(validation.IsDNS1123Subdomain(name)) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// toAdopt returns the adoption for the planner.
func (s *Snapshot) toAdopt(admission policy.Admission) *plan.Adoption {
	a := s.Adoption
	if a == nil {
		return nil
	}
	out := &plan.Adoption{From: a.From, Legacy: a.Legacy}
	switch problem := a.Malformed(s.Group); {
	case problem != "":
		out.Waits = s.refusesAdoption("Annotation " + v1alpha1.AdoptAnnotation + " " + problem)
	case a.Answer == nil && s.Group.Status.AdoptedFrom == a.From:
		return nil
	case a.Answer == nil:
		out.Waits = waits("It is not known yet which VMs there are to adopt")
	case a.Answer.Blocked != nil:
		out.Waits = a.Answer.Blocked
	case !a.Seen.Complete || len(a.Seen.InFlight) > 0:
		out.Waits = waits(cmp.Or(a.Seen.Incomplete, "vCenter is still busy with VMs of that group"))
	case len(a.missing()) > 0:
		out.Waits = waits("Some of the VMs to adopt are not visible now, and vCenter has not confirmed their deletion: " + list(a.missing(), 8))
	case s.takesOver() && (admission.Held || admission.NoCreate):
		out.Waits = BlockerOf(admission)
	default:
		out.Candidates, out.Waits = s.candidates()
	}
	return out
}

// takesOver reports whether there are VMs to adopt and room for them. Until they are adopted, the group claims only its current usage from quotas. The VMs count for the other
// group until they carry this group's stamp, and for this group from then on.
func (s *Snapshot) takesOver() bool {
	a := s.Adoption
	if a == nil || a.Answer == nil || a.Answer.Blocked != nil || s.full() {
		return false
	}
	candidates, _ := s.candidates()
	return len(candidates) > 0
}

func waits(why string) *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionWaits, Message: why + "; nothing is cloned or removed until that is known"}
}

// refusesAdoption reports that no VM is adopted, with the remedy.
func (s *Snapshot) refusesAdoption(why string) *plan.Blocker {
	return &plan.Blocker{Reason: v1alpha1.ReasonAdoptionRefused, Terminal: true, Message: fmt.Sprintf(
		"%s, so no VM is adopted, and none is cloned until that is put right. Set it to the metadata.uid of a deleted VmGroup of this namespace, or remove it: kubectl annotate vmgroup %s -n %s %s-",
		why, s.Group.Name, s.Group.Namespace, v1alpha1.AdoptAnnotation)}
}

// candidates returns the VMs that the group can adopt. VMs that only a hub administrator can allow are not among them; the blocker reports these.
func (s *Snapshot) candidates() (all []plan.Candidate, told *plan.Blocker) {
	a := s.Adoption
	if a.Legacy {
		all, strangers := s.legacyCandidates()
		return all, s.onlyStrangers(all, strangers)
	}
	allowed := a.Answer.Receipt
	if !allowed {
		allowed, _ = allowance.Counts(a.AllowedUntil, s.Now)
	}
	var orphans []string
	for _, vm := range a.genuine(a.stamped(s.ID)) {
		switch {
		case allowed && a.Answer.Claimed && (a.Answer.Receipt || s.at(vm.Folder)):
			stamp := *vm.Stamp
			all = append(all, plan.Candidate{VM: vm, Origin: vsphere.Origin{Stamp: &stamp}, Ordinal: stamp.Ordinal, Revision: stamp.Revision})
		case s.at(vm.Folder) && !s.full():
			orphans = append(orphans, untrusted.Name(vm.Name))
		}
	}
	for _, vm := range a.genuine(a.released(s.Group.Namespace)) {
		if !a.Answer.Claimed {
			continue
		}
		mark := *vm.Released
		all = append(all, plan.Candidate{VM: vm, Origin: vsphere.Origin{Released: &mark}, Ordinal: mark.Ordinal, Revision: mark.Revision})
	}
	if len(orphans) > 0 && len(all) == 0 {
		return nil, &plan.Blocker{Reason: v1alpha1.ReasonAdoptionNotAllowed, Terminal: true, Message: fmt.Sprintf(
			"The VmGroup with UID %s does not exist and has not released its VMs: %s. Their adoption needs a hub administrator's approval: "+
				"%s. Until then no VM is cloned; to do without them, remove the annotation: kubectl annotate vmgroup %s -n %s %s-",
			a.From, list(orphans, 8), allowance.Command("membercluster", s.Member, v1alpha1.AllowAdoptionAnnotation), s.Group.Name, s.Group.Namespace, v1alpha1.AdoptAnnotation)}
	}
	return all, nil
}

// missing returns the VMs of the receipt whose fate is unknown.
func (a *Adoption) missing() (refs []string) {
	for _, ref := range a.Answer.Listed {
		told := slices.Contains(a.Seen.Gone, ref) || slices.Contains(a.Seen.Elsewhere, ref) || slices.Contains(a.Seen.Others, ref)
		is := func(vm vsphere.VM) bool { return vm.Ref == ref }
		if !told && !slices.ContainsFunc(a.Seen.VMs, is) && !slices.ContainsFunc(a.Seen.Released, is) {
			refs = append(refs, ref.Value)
		}
	}
	return refs
}

// genuine removes manual copies. A VM is genuine if the receipt lists it, or if it has the instance UUID of a VM of the other group. The decision must not depend on other VMs:
// once the original is adopted, its copy is the only one left.
func (a *Adoption) genuine(vms []vsphere.VM) []vsphere.VM {
	return slices.DeleteFunc(vms, func(vm vsphere.VM) bool {
		switch mark := vm.Released; {
		case vm.Stamp != nil:
			return !slices.Contains(a.Answer.Listed, vm.Ref) && !plan.Genuine(&vm)
		case mark.UUID != "":
			return !strings.EqualFold(vm.InstanceUUID, mark.UUID)
		default:
			return !plan.WasGenuine(mark.Key(), mark.Ordinal, vm.InstanceUUID)
		}
	})
}

// ends reports whether the adoption ends with this plan, which is recorded once.
func (s *Snapshot) ends(in *plan.Adoption, p *plan.Plan) bool {
	return in != nil && in.Waits == nil && p.Adopting == 0 && s.Paused == nil && s.Observation.Complete && s.Group.Status.AdoptedFrom != in.From
}

// setAdopted reports the progress of the adoption.
func setAdopted(s *v1alpha1.VmGroupStatus, f Facts, set func(conditionType string, status metav1.ConditionStatus, reason, message string)) {
	a := f.Adoption
	switch {
	case f.AdoptFrom == "":
		drop(s, v1alpha1.ConditionAdopted)
		s.AdoptedFrom = ""
	case a == nil || !f.Complete:
		// The condition stays unchanged.
	case a.Waits != nil:
		set(v1alpha1.ConditionAdopted, metav1.ConditionFalse, a.Waits.Reason, a.Waits.Message)
	case f.Plan.Adopting > 0:
		set(v1alpha1.ConditionAdopted, metav1.ConditionFalse, v1alpha1.ReasonAdopting, fmt.Sprintf(
			"Taking over VMs of %s: %d to go%s%s", a.Name(), f.Plan.Adopting, leftToAdopt(f.Plan.LeftToAdopt), leftToStrangers(f.Name, f.Strangers)))
	case f.AdoptionEnds || s.AdoptedFrom == a.From:
		s.AdoptedFrom = a.From
		reason := v1alpha1.ReasonAdoptionEnded
		if f.Plan.LeftToAdopt > 0 || len(f.Strangers) > 0 {
			reason = v1alpha1.ReasonVMsLeft
		}
		set(v1alpha1.ConditionAdopted, metav1.ConditionTrue, reason, fmt.Sprintf(
			"Nothing is left to adopt from %s%s%s", a.Name(), leftToAdopt(f.Plan.LeftToAdopt), leftToStrangers(f.Name, f.Strangers)))
	}
}

// leftToAdopt reports VMs that the group has no room for.
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

// AdoptsFrom returns the UID of the group whose VMs are adopted.
func (s *Snapshot) AdoptsFrom() types.UID { return types.UID(s.Adoption.From) }

// MayClaimWithoutReceipt reports whether there are VMs to adopt without a receipt: released ones, or others that a hub administrator allows.
func (s *Snapshot) MayClaimWithoutReceipt() bool {
	allowed, _ := allowance.Counts(s.Adoption.AllowedUntil, s.Now)
	return len(s.Adoption.released(s.Group.Namespace)) > 0 || allowed && s.SeesOrphans()
}

// SeesOrphans reports whether there are VMs of the other group in this namespace that it has not released.
func (s *Snapshot) SeesOrphans() bool {
	return slices.ContainsFunc(s.Adoption.stamped(s.ID), func(vm vsphere.VM) bool { return s.at(vm.Folder) })
}

// HasAdopted reports whether a VM of the group was adopted.
func (s *Snapshot) HasAdopted() bool {
	return slices.ContainsFunc(s.Observation.VMs, func(vm vsphere.VM) bool { return s.stamped(vm) && vm.Stamp.UUID != "" })
}

// NothingToAdopt reports that no VMs of that UID are known. It does not reveal VMs of other namespaces.
func (s *Snapshot) NothingToAdopt() *plan.Blocker {
	return s.refusesAdoption(fmt.Sprintf("There is neither a receipt nor a VM of a VmGroup with UID %q of this namespace in VCenter %q", s.Adoption.From, s.VCenter))
}

// AdoptsLiving reports that the other group still exists.
func (s *Snapshot) AdoptsLiving(other *metav1.ObjectMeta) *plan.Blocker {
	switch {
	case other.Namespace != s.Group.Namespace:
		return s.NothingToAdopt()
	case !other.DeletionTimestamp.IsZero():
		return waits(fmt.Sprintf("VmGroup %s is being deleted. Its VMs can be adopted after its deletion", other.Name))
	}
	return s.refusesAdoption(fmt.Sprintf("VmGroup %s (UID %s) exists, and its VMs are its own", other.Name, other.UID))
}

// AdoptedByAnother reports that another group has claimed the VMs.
func (s *Snapshot) AdoptedByAnother(other *metav1.ObjectMeta) *plan.Blocker {
	return s.refusesAdoption(fmt.Sprintf("VmGroup %s takes over the VMs of the VmGroup with UID %s, or did", other.Name, s.Adoption.From))
}

// AdoptsElsewhere reports that the VMs are in another vCenter.
func (s *Snapshot) AdoptsElsewhere(vcenter string) *plan.Blocker {
	return s.refusesAdoption(fmt.Sprintf("The VMs of the VmGroup with UID %s are in VCenter %q, and this VmGroup uses %q: create it anew with spec.vcenter %q", s.Adoption.From, vcenter, s.VCenter, vcenter))
}

// AdoptionDelayed reports that the receipt is claimed later, because the member has used up its budget of writes on the hub.
func (s *Snapshot) AdoptionDelayed() *plan.Blocker {
	return waits(fmt.Sprintf("The receipt of the VMs is claimed later. Many VmGroups of MemberCluster %q changed within a short time, and the rate of writes on the hub is limited. "+
		"The operator retries", s.Member))
}

// AdoptionUnread reports that receipts cannot be read or written now.
func AdoptionUnread(err error) *plan.Blocker {
	return waits("The receipt on the hub that says whose VMs they are cannot be used: " + err.Error())
}
