package group

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Snapshot has all the data that a decision depends on. The fields from Definition on cost a call: each is nil until a [Step] asked for it.
type Snapshot struct {
	// Now is the time of the decision.
	Now time.Time
	// Group as its API server returned it last, and the revision of its spec: see plan.Revision.
	Group    *v1alpha1.VmGroup
	Revision string
	// Vanished is true for a group that its API server removed in spite of its finalizer. Its quota is given back at the end.
	Vanished bool
	// ID of the group. A stamp of another group is ignored.
	ID vsphere.GroupID
	// Epoch under which this replica can act on the group.
	Epoch v1alpha1.Epoch
	// Raised is the last raise of the shard map's generation by this replica because of a group of this member.
	Raised Raise
	// Member is the name of the group's MemberCluster. If UserDataDenied is true, its groups cannot pass a Secret to their VMs.
	Member         string
	UserDataDenied bool
	// Paused stops every action and explains the pause. It is nil if the group is not paused.
	Paused *plan.Blocker
	// Requester is the origin of the group. Stranger is true while the cache does not have the namespace yet: its labels, its grants and its policies are unknown.
	Requester policy.Requester
	Stranger  bool
	// VCenter is the name of the VCenter that the group uses. Unavailable explains why it cannot be read, or is nil.
	VCenter     string
	Unavailable *plan.Blocker
	// Lost is the hub's knowledge of a vCenter that cannot be read.
	Lost Loss
	// Admitted is the last admitted spec that counts, or nil: see Believe.
	Admitted *v1alpha1.Admitted
	record   Record
	// MassDeletion is the knowledge about removals of other groups of the member.
	MassDeletion MassDeletion
	// Names are the resolved names of spec. AdmittedNames are those of the admitted shape, if it differs.
	Names, AdmittedNames Names
	// Old are the shapes of older revisions that VMs have: see OldRevisions.
	Old []OldShape
	// Violations of policies by spec, without quotas. PoliciesUnread explains why policies cannot be read, or is empty.
	Violations     []policy.Violation
	PoliciesUnread string
	// Folder of the group, or nil. It is in status, or was found (see Home) or made in this pass.
	Folder *v1alpha1.FolderStatus
	// ForeignRecord names the folder or VM in status that belongs to another group, or is empty.
	ForeignRecord string
	// Predecessors are the installations that hub administrators named.
	Predecessors Predecessors
	// Adoption describes the VMs to adopt from another group, or is nil.
	Adoption *Adoption
	// Observation of vCenter: see See.
	Observation vsphere.Observation
	// sizes are those of the VMs that vCenter shows or is cloning, by ordinal. leaving has those of VMs that are marked for destruction, or whose mark, destruction or release is
	// in flight. released has those of existing VMs that the group released.
	sizes             map[int32]size
	leaving, released []size
	// OutOfSight is the time since when the group's VMs are not visible, or zero. Reported is when status was written last.
	OutOfSight, Reported time.Time
	// Written is true once this process has written to this very object, by member, namespace, name and UID. Until then, only the member's API server vouches for the object, and
	// no vCenter request is sent for it.
	Written bool

	// Definition is the answer about the CRD of a group that is being deleted.
	Definition *DefinitionAnswer
	// Quota is the answer of quotas.
	Quota *QuotaAnswer
	// UserData has the results of reading user data Secrets, by name.
	UserData map[string]*UserDataAnswer
	// FolderMade and FolderRemoved are the results of these attempts.
	FolderMade, FolderRemoved *Attempt
	// Recorded is the result of storing a record.
	Recorded *RecordAnswer
	// Receipt is the result of writing a receipt.
	Receipt *ReceiptAnswer
}

// Raise is a raise of the shard map's generation above one in a group's status. The zero value is none.
type Raise struct {
	Above int64
	At    time.Time
}

// Names has the resolved names of a spec.
type Names struct {
	Template  vsphere.Template
	Placement vsphere.ResolvedPlacement
	Linked    bool
	// Denials are the references that grants refuse.
	Denials []policy.Denial
	// Unresolved is true if a reference was not found, so that its grant is unknown. TemplateMissing is true if the template certainly does not exist.
	Unresolved, TemplateMissing bool
	// Blocked explains why no VM can be cloned, or is nil.
	Blocked *plan.Blocker
}

// KeepsNetwork reports whether neither spec nor the VCenter names a network.
func (n *Names) KeepsNetwork() bool { return !n.Unresolved && n.Placement.Network.IsZero() }

// QuotaAnswer is the answer of quotas to a spec. The zero value grants nothing: a quota that was not asked limits like one that refuses.
type QuotaAnswer struct {
	// Granted is true if the whole claim for spec is granted. Free are the dimensions that no quota limits.
	Granted bool
	Free    []policy.Rule
	// Waiting is true while the claim is in progress. The group is notified.
	Waiting bool
	// Returned is true if the group gives something back. A read of the API server has then confirmed Snapshot.Group.
	Returned bool
	// Wait is the minimum time that the claim waits, because the member has used up its budget of writes on the hub.
	Wait time.Duration
	// Violations are those of quotas. Unavailable explains why quotas cannot be asked, or is empty.
	Violations  []policy.Violation
	Unavailable string
	// Surge is the number of surge VMs that are granted for an update. Short explains why they are fewer than claimed, or is empty.
	Surge int32
	Short string
	// Unwatched is true if the group must ask again later, and no event reports when.
	Unwatched bool
}

// UserDataAnswer is the user data of VMs to be cloned, or why there is none.
type UserDataAnswer struct {
	// Data is for cloud-init, and Ignition for Ignition; one of them can be empty.
	Data, Ignition []byte
	Blocked        *plan.Blocker
}

// Attempt is the result of an attempt.
type Attempt struct{ Err error }

func (s *Snapshot) deleting() bool { return !s.Group.DeletionTimestamp.IsZero() }

// overtaken reports whether a replica with a later epoch has written status, if status is genuine.
func (s *Snapshot) overtaken() bool {
	o := s.Group.Status.Ownership
	return o != nil && s.Epoch.Less(o.Epoch)
}

// neverActed reports whether the operator never sent a vCenter request for this group: clones are sent only after status has recorded the folder and the intent. A status without
// a generation was never written, or was cleared, and proves nothing. If the hub has a record of the group, its status proves nothing either: the record is made before the first
// clone, and a cleared status can have been written again since.
func (s *Snapshot) neverActed() bool {
	status := &s.Group.Status
	return status.ObservedGeneration != 0 && status.Folder == nil && len(status.VMs) == 0 && len(status.Deleting) == 0 &&
		s.record.Admitted == nil && s.record.Unread == ""
}

// generation returns the generation that status describes. A status without a generation keeps none while it is unknown whether it was cleared: otherwise neverActed would
// conclude that the group has no VMs. Only a group that was created a moment ago is certainly new.
func (s *Snapshot) generation() int64 {
	if old := s.Group.Status.ObservedGeneration; s.homeless() || old == 0 && s.Unseen() && s.Now.Sub(s.Group.CreationTimestamp.Time) > newFor {
		return old
	}
	return s.Group.Generation
}

// Unseen reports whether the group's VMs are unknown now.
func (s *Snapshot) Unseen() bool {
	if s.Unavailable != nil {
		return s.Unavailable.Reason == v1alpha1.ReasonVCenterUnreachable
	}
	return !s.Observation.Complete
}

// longestMoRef is the maximum length of a reference in status. An API server that makes one up can return any length.
const longestMoRef = 128

// FolderRef returns the reference of Folder.
func (s *Snapshot) FolderRef() vsphere.Ref {
	if s.Folder == nil || len(s.Folder.MoRef) > longestMoRef {
		return vsphere.Ref{}
	}
	return vsphere.FolderRef(s.Folder.MoRef)
}

// See sets the observation of vCenter. It counts the VMs of the group by ordinal, including clones in flight: a copy of a VM does not count.
func (s *Snapshot) See(observation vsphere.Observation) {
	s.Observation, s.sizes, s.leaving, s.released = observation, map[int32]size{}, nil, nil
	doomed := map[int32]bool{}
	for _, op := range observation.InFlight {
		if op.Kind == vsphere.OpMark || op.Kind == vsphere.OpDestroy || op.Kind == vsphere.OpRelease {
			doomed[op.Ordinal] = true
		}
	}
	for i := range observation.VMs {
		switch vm := &observation.VMs[i]; {
		case !s.stamped(*vm):
		case vm.Tombstone || doomed[vm.Stamp.Ordinal]:
			s.leaving = append(s.leaving, s.sizeOf(vm))
		default:
			s.sizes[vm.Stamp.Ordinal] = s.sizes[vm.Stamp.Ordinal].max(s.sizeOf(vm))
		}
	}
	for _, vm := range s.Group.Status.VMs {
		if slices.Contains(s.Group.Status.Deleting, vm.Ordinal) && s.outOfSight(vm) { // it counts until its deletion is confirmed
			z := s.described(vm.Ordinal)
			if z.unknown() || vm.Updating { // its size is unknown
				z = s.becoming(z.max(asked(s.Group.Spec)))
			}
			s.leaving = append(s.leaving, z)
		}
	}
	for i := range observation.Released {
		s.released = append(s.released, sizeOf(&observation.Released[i]))
	}
	for _, op := range observation.InFlight {
		z, exists := s.sizes[op.Ordinal]
		switch {
		case op.Kind == vsphere.OpClone:
			s.sizes[op.Ordinal] = z.max(s.described(op.Ordinal))
		case op.Kind == vsphere.OpReconfigure && exists:
			s.sizes[op.Ordinal] = s.becoming(z)
		}
	}
}

// FolderPath returns the path at which the group's folder is created.
func (s *Snapshot) FolderPath() vsphere.FolderPath {
	return vsphere.FolderPath{Member: s.Member, Namespace: s.Group.Namespace, Leaf: FolderName(s.Group.Name, s.Group.UID)}
}

// FolderName is unique forever, unlike the group's name: <group>.<first 8 of its UID>.
func FolderName(name string, uid types.UID) string {
	return name + "." + string(uid[:min(8, len(uid))])
}
