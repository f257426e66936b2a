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

// Snapshot is everything that a decision depends on. What is from Definition on costs a call: it is nil until a [Step] asked for it.
type Snapshot struct {
	// Now is the time of the decision.
	Now time.Time
	// Group as its API server returned it last, and the revision of its spec: see plan.Revision.
	Group    *v1alpha1.VmGroup
	Revision string
	// Vanished is true for a group that its API server removed in spite of its finalizer. Its quota is given back at the end.
	Vanished bool
	// ID of the group. A stamp of another group is none.
	ID vsphere.GroupID
	// Epoch under which this replica may act on the group.
	Epoch v1alpha1.Epoch
	// Raised is for what this replica raised the ring's generation last because a group of this member showed it.
	Raised Raise
	// Member is the name of the group's MemberCluster, whose groups may not hand a Secret to their VMs if UserDataDenied.
	Member         string
	UserDataDenied bool
	// Paused stops every action, and says who paused; nil when nobody did.
	Paused *plan.Blocker
	// Requester is whose group it is. Stranger is true while the cache does not have the namespace, which is about to come: nobody
	// knows its labels, nor what is granted to it and which policies hold.
	Requester policy.Requester
	Stranger  bool
	// VCenter is the name of the VCenter that the group uses. Unavailable says why it cannot be looked at, or is nil.
	VCenter     string
	Unavailable *plan.Blocker
	// Lost is what the hub says of a vCenter that cannot be looked at.
	Lost Loss
	// Admitted is what counts as admitted last, or nil: see Believe.
	Admitted *v1alpha1.Admitted
	record   Record
	// MassDeletion is what is known of the other groups of the member that remove VMs.
	MassDeletion MassDeletion
	// Names are what spec names; AdmittedNames are those of the shape that was admitted, if that is another.
	Names, AdmittedNames Names
	// Old are the shapes of older revisions that VMs have: see OldRevisions.
	Old []OldShape
	// Violations of policies by spec, quotas left out. PoliciesUnread says why they cannot be read, or is empty.
	Violations     []policy.Violation
	PoliciesUnread string
	// Folder of the group, or nil. It is in status, or was found (see Home) or made in this pass.
	Folder *v1alpha1.FolderStatus
	// ForeignRecord says what status names and is another's, or is empty.
	ForeignRecord string
	// Predecessors are what hub administrators named.
	Predecessors Predecessors
	// Adoption is what is to be taken over of another group, or nil.
	Adoption *Adoption
	// Observation of vCenter: see See.
	Observation vsphere.Observation
	// sizes are those of the VMs that vCenter shows or is cloning, by ordinal; leaving those of VMs that are marked to be destroyed, or whose mark, destruction or
	// release is in flight; and released those of VMs that the group let go and that are there still.
	sizes             map[int32]size
	leaving, released []size
	// OutOfSight is since when the group's VMs are out of sight, or zero. Reported is when status was written last.
	OutOfSight, Reported time.Time
	// Written is true once this process has written to this very object, by member, namespace, name and UID. Until then only what the
	// member's API server shows speaks for the object, and nothing is asked of vCenter for it.
	Written bool

	// Definition is the answer about the CRD of a group that is being deleted.
	Definition *DefinitionAnswer
	// Quota is what quotas said.
	Quota *QuotaAnswer
	// UserData is what became of reading user data Secrets, by name.
	UserData map[string]*UserDataAnswer
	// FolderMade and FolderRemoved are what became of the attempts to do so.
	FolderMade, FolderRemoved *Attempt
	// Recorded is what became of putting a record.
	Recorded *RecordAnswer
	// Receipt is what became of writing one.
	Receipt *ReceiptAnswer
}

// Raise of the ring's generation, above one that a group's status showed. The zero value is none.
type Raise struct {
	Above int64
	At    time.Time
}

// Names is what the names in a spec stand for.
type Names struct {
	Template  vsphere.Template
	Placement vsphere.ResolvedPlacement
	Linked    bool
	// Denials are what grants refuse.
	Denials []policy.Denial
	// Unresolved is true when something was not found, so that nobody knows whether it is granted; TemplateMissing when the
	// template certainly does not exist.
	Unresolved, TemplateMissing bool
	// Blocked explains why nothing may be cloned, or is nil.
	Blocked *plan.Blocker
}

// QuotaAnswer is what quotas said of a spec. The zero value grants nothing: a quota that was not asked limits as one that refuses.
type QuotaAnswer struct {
	// Granted is true when all that was claimed for spec is granted. Free are the dimensions that no quota limits.
	Granted bool
	Free    []policy.Rule
	// Waiting is true while the claim is on its way. The group is notified.
	Waiting bool
	// Returned is true if the group gives something back. A read of the API server has confirmed Snapshot.Group then.
	Returned bool
	// Wait is for how long the claim waits at least, since the member has used up its budget of writes on the hub.
	Wait time.Duration
	// Violations are what quotas refuse. Unavailable says why they cannot be asked, or is empty.
	Violations  []policy.Violation
	Unavailable string
	// Surge is how many VMs more are granted for an update; Short says why they are fewer than were asked for, or is empty.
	Surge int32
	Short string
	// Unwatched is true when there is more to ask later, and no event will tell when.
	Unwatched bool
}

// UserDataAnswer is the user data of VMs to be cloned, or why there is none.
type UserDataAnswer struct {
	// Data is what cloud-init gets, and Ignition what Ignition gets; one of them can be empty.
	Data, Ignition []byte
	Blocked        *plan.Blocker
}

// Attempt is what became of something that was tried.
type Attempt struct{ Err error }

func (s *Snapshot) deleting() bool { return !s.Group.DeletionTimestamp.IsZero() }

// overtaken reports whether a replica with a later epoch has written status, as far as status can be believed.
func (s *Snapshot) overtaken() bool {
	o := s.Group.Status.Ownership
	return o != nil && s.Epoch.Less(o.Epoch)
}

// neverActed reports whether nothing was ever asked of vCenter for this group: clones are sent only after
// status has recorded the folder and the intent. A status without a generation was never written, or was wiped,
// and proves nothing. Neither does any status of a group of which the hub has a record: that is made before the first clone, and a status
// that was wiped can have been written anew since.
func (s *Snapshot) neverActed() bool {
	status := &s.Group.Status
	return status.ObservedGeneration != 0 && status.Folder == nil && len(status.VMs) == 0 && len(status.Deleting) == 0 &&
		s.record.Admitted == nil && s.record.Unread == ""
}

// generation is the one that status is about. A status that has none stays so while nobody knows whether it was wiped: neverActed
// would take it for that of a group which has no VMs. Only a group that was created a moment ago is certainly new.
func (s *Snapshot) generation() int64 {
	if old := s.Group.Status.ObservedGeneration; s.homeless() || old == 0 && s.Unseen() && s.Now.Sub(s.Group.CreationTimestamp.Time) > newFor {
		return old
	}
	return s.Group.Generation
}

// Unseen reports whether nobody knows now which VMs the group has.
func (s *Snapshot) Unseen() bool {
	if s.Unavailable != nil {
		return s.Unavailable.Reason == v1alpha1.ReasonVCenterUnreachable
	}
	return !s.Observation.Complete
}

// longestMoRef is the length of the longest reference that status can have. An API server that makes one up can show any.
const longestMoRef = 128

// FolderRef refers to Folder.
func (s *Snapshot) FolderRef() vsphere.Ref {
	if s.Folder == nil || len(s.Folder.MoRef) > longestMoRef {
		return vsphere.Ref{}
	}
	return vsphere.FolderRef(s.Folder.MoRef)
}

// See makes observation what is known of vCenter. The VMs of the group are counted by ordinal, with those whose clone is under way:
// a copy of a VM is no other one.
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
			s.leaving = append(s.leaving, sizeOf(vm))
		default:
			s.sizes[vm.Stamp.Ordinal] = s.sizes[vm.Stamp.Ordinal].max(sizeOf(vm))
		}
	}
	for _, vm := range s.Group.Status.VMs {
		if slices.Contains(s.Group.Status.Deleting, vm.Ordinal) && s.outOfSight(vm) { // it counts until it is gone
			s.leaving = append(s.leaving, s.described(vm.Ordinal).max(asked(s.Group.Spec)))
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
			s.sizes[op.Ordinal] = z.max(s.becoming())
		}
	}
}

// FolderPath is where the group's folder is made.
func (s *Snapshot) FolderPath() vsphere.FolderPath {
	return vsphere.FolderPath{Member: s.Member, Namespace: s.Group.Namespace, Leaf: FolderName(s.Group.Name, s.Group.UID)}
}

// FolderName is unique for ever, unlike the group's name: <group>.<first 8 of its UID>.
func FolderName(name string, uid types.UID) string {
	return name + "." + string(uid[:min(8, len(uid))])
}
