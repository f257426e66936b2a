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
	// AdoptionInterval is when to look again while VMs are taken over: no event tells of VMs of another group.
	AdoptionInterval = 5 * time.Second
	// legacyPrefix and the group's UID are what VMs of the original operator are marked with until they carry the group's stamp.
	legacyPrefix = "legacy-"
)

// Adoption is what is known of the VMs that the group shall take over from a group that does not exist any more.
type Adoption struct {
	// Legacy is true for VMs of the original operator, which carry nothing and lie in a folder that the hub grants. Those that were claimed carry a mark
	// of a group that never was.
	Legacy bool
	// From is the UID of that group, as the annotation says.
	From string
	// Seen is what its VMs are; Folders are where the folders lie that they are in.
	Seen    vsphere.Observation
	Folders map[vsphere.Ref]vsphere.FolderPath
	// AllowedUntil is until when a hub administrator lets VMs be adopted for which there is no receipt, or zero.
	AllowedUntil time.Time
	// Answer is what became of the claim; nil until a Step asked for it.
	Answer *AdoptionAnswer
}

// AdoptionAnswer is what became of claiming the VMs of another group.
type AdoptionAnswer struct {
	// Blocked says why they are not the group's to take, or is nil.
	Blocked *plan.Blocker
	// Claimed is true if nobody else can take them.
	Claimed bool
	// Receipt is true if the hub has a receipt that says that the other group let its VMs go in this namespace. Listed are the references of the VMs in it.
	Receipt bool
	Listed  []vsphere.Ref
	// Group is the name of the other group, as far as it is known.
	Group string
	// Folder is what lies in the folder that the hub grants, for Legacy.
	Folder *vsphere.FolderContent
}

// AdoptionOf returns what a group shall take over, or nil for nothing.
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

// Malformed says why the annotation names no group that VMs could be taken from, or is empty.
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

// isUID reports whether an API server may have given this UID to an object.
func isUID(s string) bool {
	const form = "00000000-0000-0000-0000-000000000000"
	for i, c := range s {
		if i >= len(form) || (c == '-') != (form[i] == '-') || c != '-' && !strings.ContainsRune("0123456789abcdef", c) {
			return false
		}
	}
	return len(s) == len(form)
}

// adoptFrom is the UID that the annotation names, or empty.
func (s *Snapshot) adoptFrom() string {
	if s.Adoption == nil {
		return ""
	}
	return s.Adoption.From
}

// claims decides whether VMs of another group have to be claimed first. Nothing is asked for a group that has taken all that it has room for, once it has said so.
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

// leftVMs reports whether VMs were left when the last adoption ended, or another one goes on since.
func (s *Snapshot) leftVMs() bool {
	is := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionAdopted)
	return is != nil && is.Reason != v1alpha1.ReasonAdoptionEnded
}

// takingOver reports whether status says that VMs are being taken over. A group that takes some more after its adoption had ended says so, too.
func (s *Snapshot) takingOver() bool {
	is := meta.FindStatusCondition(s.Group.Status.Conditions, v1alpha1.ConditionAdopted)
	return is != nil && is.Reason == v1alpha1.ReasonAdopting
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

// at reports whether a folder is where the other group's was: in this namespace, with its UID in the name. One that has been moved for this group
// lies in the group's own.
func (s *Snapshot) at(folder vsphere.Ref) bool {
	if folder == s.FolderRef() {
		return true
	}
	place := s.Adoption.Folders[folder]
	return s.neighbor(place) && strings.HasSuffix(place.Leaf, FolderName("", s.AdoptsFrom()))
}

// AdoptedNames are the names that the other group can have had, by the folders that its VMs lie in. A person can have renamed them.
func (s *Snapshot) AdoptedNames() (names []string) {
	for _, place := range s.Adoption.Folders {
		if name, found := strings.CutSuffix(place.Leaf, FolderName("", s.AdoptsFrom())); found && len(validation.IsDNS1123Subdomain(name)) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// toAdopt is what the plan is to know of the adoption.
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
		out.Waits = waits("It is not known yet which VMs there are to take over")
	case a.Answer.Blocked != nil:
		out.Waits = a.Answer.Blocked
	case !a.Seen.Complete || len(a.Seen.InFlight) > 0:
		out.Waits = waits(cmp.Or(a.Seen.Incomplete, "vCenter is still busy with VMs of that group"))
	case len(a.missing()) > 0:
		out.Waits = waits("Some of the VMs to take over are not seen now, and vCenter has not said that they are gone: " + list(a.missing(), 8))
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
	if a == nil || a.Answer == nil || a.Answer.Blocked != nil || s.full() {
		return false
	}
	candidates, _ := s.candidates()
	return len(candidates) > 0
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
			"The VmGroup with UID %s is gone and has not released its VMs: %s. That they may be taken over is for a hub administrator to say: "+
				"%s. Until then no VM is cloned; to do without them, remove the annotation: kubectl annotate vmgroup %s -n %s %s-",
			a.From, list(orphans, 8), allowance.Command("membercluster", s.Member, v1alpha1.AllowAdoptionAnnotation), s.Group.Name, s.Group.Namespace, v1alpha1.AdoptAnnotation)}
	}
	return all, nil
}

// missing are the VMs of the receipt of which nobody knows what became of them.
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

// genuine leaves out copies that somebody made: a VM counts that the receipt lists, or that has the instance UUID of a VM of the other group. It must
// not count what else there is: once the original was taken over, a copy of it is alone.
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
			"Taking over VMs of %s: %d to go%s%s", a.Name(), f.Plan.Adopting, leftToAdopt(f.Plan.LeftToAdopt), leftToStrangers(f.Name, f.Strangers)))
	case f.AdoptionEnds || s.AdoptedFrom == a.From:
		s.AdoptedFrom = a.From
		reason := v1alpha1.ReasonAdoptionEnded
		if f.Plan.LeftToAdopt > 0 || len(f.Strangers) > 0 {
			reason = v1alpha1.ReasonVMsLeft
		}
		set(v1alpha1.ConditionAdopted, metav1.ConditionTrue, reason, fmt.Sprintf(
			"Nothing is left to be taken over from %s%s%s", a.Name(), leftToAdopt(f.Plan.LeftToAdopt), leftToStrangers(f.Name, f.Strangers)))
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

// AdoptsFrom is the UID of the group whose VMs are taken over.
func (s *Snapshot) AdoptsFrom() types.UID { return types.UID(s.Adoption.From) }

// MayClaimWithoutReceipt reports whether there are VMs to take for which no receipt is needed: released ones, or others that a hub administrator allows.
func (s *Snapshot) MayClaimWithoutReceipt() bool {
	allowed, _ := allowance.Counts(s.Adoption.AllowedUntil, s.Now)
	return len(s.Adoption.released(s.Group.Namespace)) > 0 || allowed && s.SeesOrphans()
}

// SeesOrphans reports whether there are VMs of the other group in this namespace that it has not released.
func (s *Snapshot) SeesOrphans() bool {
	return slices.ContainsFunc(s.Adoption.stamped(s.ID), func(vm vsphere.VM) bool { return s.at(vm.Folder) })
}

// HasAdopted reports whether a VM of the group was taken over.
func (s *Snapshot) HasAdopted() bool {
	return slices.ContainsFunc(s.Observation.VMs, func(vm vsphere.VM) bool { return s.stamped(vm) && vm.Stamp.UUID != "" })
}

// NothingToAdopt says that nobody knows of VMs of that UID. What there is of other namespaces is not told.
func (s *Snapshot) NothingToAdopt() *plan.Blocker {
	return s.refusesAdoption(fmt.Sprintf("There is neither a receipt nor a VM of a VmGroup with UID %q of this namespace in VCenter %q", s.Adoption.From, s.VCenter))
}

// AdoptsLiving says that the other group exists.
func (s *Snapshot) AdoptsLiving(other *metav1.ObjectMeta) *plan.Blocker {
	switch {
	case other.Namespace != s.Group.Namespace:
		return s.NothingToAdopt()
	case !other.DeletionTimestamp.IsZero():
		return waits(fmt.Sprintf("VmGroup %s is being deleted, and its VMs can be taken over once it is gone", other.Name))
	}
	return s.refusesAdoption(fmt.Sprintf("VmGroup %s (UID %s) exists, and its VMs are its own", other.Name, other.UID))
}

// AdoptedByAnother says that another group has claimed the VMs.
func (s *Snapshot) AdoptedByAnother(other *metav1.ObjectMeta) *plan.Blocker {
	return s.refusesAdoption(fmt.Sprintf("VmGroup %s takes over the VMs of the VmGroup with UID %s, or did", other.Name, s.Adoption.From))
}

// AdoptsElsewhere says that the VMs are in another vCenter.
func (s *Snapshot) AdoptsElsewhere(vcenter string) *plan.Blocker {
	return s.refusesAdoption(fmt.Sprintf("The VMs of the VmGroup with UID %s are in VCenter %q, and this VmGroup uses %q: create it anew with spec.vcenter %q", s.Adoption.From, vcenter, s.VCenter, vcenter))
}

// AdoptionDelayed says that the receipt is claimed later, since the member has used up its budget of writes on the hub.
func (s *Snapshot) AdoptionDelayed() *plan.Blocker {
	return waits(fmt.Sprintf("The receipt of the VMs is claimed later. Many VmGroups of MemberCluster %q changed within a short time, and the rate of writes on the hub is limited. "+
		"The operator retries", s.Member))
}

// AdoptionUnread says that receipts cannot be read or written now.
func AdoptionUnread(err error) *plan.Blocker {
	return waits("The receipt on the hub that says whose VMs they are cannot be used: " + err.Error())
}
