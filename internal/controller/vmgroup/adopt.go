package vmgroup

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// askedAdoption is for how long a refusal stands. A claim costs a read of the hub and up to two of the member, and every user who can annotate a group can cause it.
const askedAdoption = 30 * time.Second

// claimedAdoption is what this process has claimed for a group, or was told when it tried.
type claimedAdoption struct {
	from   string
	answer group.AdoptionAnswer
	// until is when to ask again, zero for what was granted.
	until time.Time
}

// claimed is what this process has claimed for a group of the VMs of the group with this UID, or nil. A member that is restored may have that one again: then
// it is looked at anew.
func (r *Reconciler) claimed(by object, from string) *group.AdoptionAnswer {
	c := r.memory.of(by).adoption
	if c == nil || c.from != from || !c.until.IsZero() && !r.Now().Before(c.until) {
		return nil
	}
	if _, exists := r.Fleet.Group(vsphere.KeyOf(by.key.Member(), from)); exists {
		return nil
	}
	return new(c.answer)
}

// seeAdoption reads which VMs another group has left, whose VMs this one shall take over.
func seeAdoption(s *group.Snapshot, inventory vsphere.Inventory) {
	a := s.Adoption
	if a == nil || a.Malformed(s.Group) != "" {
		return
	}
	q := vsphere.Query{ID: s.ID, Templates: templatesOf(s)}
	if q.ID.Group = a.From; a.Answer != nil {
		q.Known = a.Answer.Listed
	}
	a.Seen, a.Folders = inventory.Observe(q), map[vsphere.Ref]vsphere.FolderPath{}
	for _, vm := range slices.Concat(a.Seen.VMs, a.Seen.Released) {
		if _, known := a.Folders[vm.Folder]; !known {
			a.Folders[vm.Folder] = inventory.Observe(vsphere.Query{ID: q.ID, Folder: vm.Folder}).Folder.Place
		}
	}
}

// claimAdoption claims the VMs of another group for this one, after it has read afresh that the other does not exist. Two groups that name the same
// one never both get an answer that lets them take VMs. The error is one of the member.
//
// No list is read: a list of a member can have any length. An annotation that names a UID is younger than the group with this UID, and the cache has both in
// their order. So the cache knows the other group unless it was deleted. The API server is asked by name, since a restored member can have the group again.
func (p *pass) claimAdoption(ctx context.Context, s *group.Snapshot) (*group.AdoptionAnswer, error) {
	a := s.Adoption
	if a.Legacy {
		return p.findLegacy(ctx, s)
	}
	answer, err := p.claim(ctx, s)
	if err != nil {
		return nil, err
	}
	again := time.Duration(0)
	switch {
	case answer.Blocked != nil && answer.Blocked.Terminal:
		again = askedAdoption
	case !answer.Claimed:
		again = group.AdoptionInterval
	}
	next := &claimedAdoption{from: a.From, answer: answer}
	if again > 0 {
		next.until = p.now.Add(again)
	}
	p.r.memory.change(p.object(s), func(m *remembered) { m.adoption = next })
	a.Answer = &answer
	seeAdoption(s, p.server) // with what the receipt lists
	return &answer, nil
}

// claim claims the receipt of a group that does not exist. The member is asked only if a claim would follow.
func (p *pass) claim(ctx context.Context, s *group.Snapshot) (group.AdoptionAnswer, error) {
	blocked := func(b *plan.Blocker) (group.AdoptionAnswer, error) { return group.AdoptionAnswer{Blocked: b}, nil }
	if other := p.cachedGroup(ctx, s.Adoption.From); other != nil {
		return blocked(s.AdoptsLiving(other))
	}
	key := vsphere.KeyOf(s.ID.Member, s.Adoption.From)
	receipt, err := p.r.Receipts.Read(ctx, key)
	switch {
	case err != nil:
		return blocked(group.AdoptionUnread(err))
	case receipt != nil && receipt.Namespace != s.Group.Namespace:
		return blocked(s.NothingToAdopt())
	case receipt != nil && receipt.VCenter != "" && receipt.VCenter != s.VCenter:
		return blocked(s.AdoptsElsewhere(receipt.VCenter))
	case receipt != nil, s.MayClaimWithoutReceipt():
	case s.SeesOrphans() || s.HasAdopted():
		return group.AdoptionAnswer{}, nil // a hub administrator has to allow it, or nothing is left and status was lost
	default:
		return blocked(s.NothingToAdopt())
	}
	if why, err := p.contender(ctx, s, receipt); why != nil || err != nil {
		return group.AdoptionAnswer{Blocked: why}, err
	}
	return p.stake(ctx, s, receipt), nil
}

// stake writes the claim into the receipt, which is nil if there is none yet.
func (p *pass) stake(ctx context.Context, s *group.Snapshot, receipt *receipts.Receipt) group.AdoptionAnswer {
	key := vsphere.KeyOf(s.ID.Member, s.Adoption.From)
	self := receipts.Adopter{MemberUID: p.member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: string(s.Group.UID)}
	if receipt == nil || receipt.AdoptedBy == nil || !receipt.AdoptedBy.Is(self) {
		written := p.receiptOfAdoption(s)
		if receipt != nil {
			written = *receipt
		}
		if wait := p.r.HubWrites.Ask(p.member.UID, p.turn(s), written.Bytes()); wait > 0 {
			return group.AdoptionAnswer{Blocked: s.AdoptionDelayed()}
		}
		p.r.HubWrites.Settle(p.member.UID, writebudget.Receipt, written.Bytes(), written.Bytes())
	}
	var err error
	if receipt != nil && receipt.AdoptedBy != nil && !receipt.AdoptedBy.Is(self) {
		// The group that claimed them is gone, and took only VMs that carry its own stamp.
		err = p.r.Receipts.Unclaim(ctx, key, *receipt.AdoptedBy)
	}
	var claimed receipts.Receipt
	if err == nil {
		claimed, err = p.r.Receipts.Claim(ctx, key, p.receiptOfAdoption(s), self)
	}
	if err != nil {
		return group.AdoptionAnswer{Blocked: group.AdoptionUnread(err)}
	}
	answer := group.AdoptionAnswer{Claimed: true, Receipt: claimed.Cause != receipts.Adopted, Group: claimed.Group}
	for _, vm := range claimed.VMs {
		if vm.MoRef != "" {
			answer.Listed = append(answer.Listed, vsphere.VMRef(vm.MoRef))
		}
	}
	log.FromContext(ctx).Info("Claimed the VMs of a deleted group", "from", s.Adoption.From, "receipt", receipts.Name(key), "cause", claimed.Cause)
	return answer
}

// contender reads afresh whether the other group exists, or the one that has claimed its VMs, and says why the VMs are not free, or returns nil. What the
// receipt says was read before: a group that claims them later makes the claim of this one fail. The error is one of the member.
func (p *pass) contender(ctx context.Context, s *group.Snapshot, receipt *receipts.Receipt) (*plan.Blocker, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	names := s.AdoptedNames()
	if receipt != nil && !slices.Contains(names, receipt.Group) {
		names = append(names, receipt.Group)
	}
	for _, name := range names {
		other, err := groupNow(ctx, p.live, types.NamespacedName{Namespace: s.Group.Namespace, Name: name})
		switch {
		case err != nil:
			return nil, err
		case other != nil && other.UID == s.AdoptsFrom():
			return s.AdoptsLiving(other), nil
		}
	}
	if receipt == nil || receipt.AdoptedBy == nil || receipt.AdoptedBy.GroupUID == string(s.Group.UID) {
		return nil, nil
	}
	by := receipt.AdoptedBy
	other, err := groupNow(ctx, p.live, types.NamespacedName{Namespace: by.Namespace, Name: by.Group})
	if err != nil || other == nil || string(other.UID) != by.GroupUID {
		return nil, err
	}
	return s.AdoptedByAnother(other), nil
}

// cachedGroup is the group of the member with this UID, as the cache has it, or nil.
func (p *pass) cachedGroup(ctx context.Context, uid string) *metav1.ObjectMeta {
	g, known := p.r.Fleet.Group(vsphere.KeyOf(p.member.UID, uid))
	if !known {
		return nil
	}
	of := &v1alpha1.VmGroup{}
	if err := p.cache.Get(ctx, requestAt(g.Ref).NamespacedName, of); err != nil || string(of.UID) != uid {
		return nil
	}
	return &of.ObjectMeta
}

// receiptOfAdoption is what the hub keeps of VMs for which there was no receipt. The name of the group that they were of is in that of its folder.
func (p *pass) receiptOfAdoption(s *group.Snapshot) receipts.Receipt {
	r := receipts.Receipt{
		Cause: receipts.Adopted, MemberCluster: p.member.Name, MemberUID: p.member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: s.Adoption.From,
		VCenter: s.VCenter, InstanceUUID: s.Observation.InstanceUUID, Time: p.now.UTC().Truncate(time.Second),
	}
	if names := s.AdoptedNames(); len(names) > 0 {
		r.Group = names[0]
	}
	return r
}

// endAdoption lowers what is charged to the other group to what is left of it, and removes its folder if that is empty. Both may be repeated, and
// nothing depends on them: the charge is corrected by the ledger itself after some minutes.
func (p *pass) endAdoption(ctx context.Context, s *group.Snapshot) {
	a := s.Adoption
	if a.Legacy {
		return // the folder is the original operator's
	}
	id := s.ID
	id.Group = a.From
	where := s.FolderPath()
	where.Leaf = group.FolderName(a.Answer.Group, s.AdoptsFrom())
	seen := p.server.Observe(vsphere.Query{ID: id, Path: where})
	if p.r.Quotas != nil && seen.Complete && !seen.Undetermined() && len(seen.InFlight) == 0 {
		p.r.Quotas.Leave(quota.Key{Member: s.Member, UID: s.AdoptsFrom()}, group.Remains(id, &seen))
	}
	if folder := seen.Folder; !folder.Ref.IsZero() && folder.Ref != s.FolderRef() {
		if err := p.server.DestroyFolder(ctx, folder.Ref); err != nil {
			log.FromContext(ctx).Error(err, "The folder of the group whose VMs were taken over stays", "folder", folder.Path)
		}
	}
}

// adoption is what is asked of the vSphere port to take a VM over.
func adoption(s *group.Snapshot, action plan.Action) vsphere.Adoption {
	a := vsphere.Adoption{
		VM: vsphere.VMRef(action.MoRef), From: action.Origin, Folder: s.FolderRef(), Name: action.Name, ChangeVersion: action.ChangeVersion,
		Stamp: vsphere.Stamp{GroupID: s.ID, Ordinal: action.Ordinal, Revision: action.Revision, Epoch: vsphere.Epoch(s.Epoch), UUID: action.UUID},
	}
	if action.Kind == plan.ClaimVM {
		a.Mark = markOfLegacy(s, action)
	}
	if old := action.Origin.Stamp; old != nil {
		a.Stamp.CloneMode, a.Stamp.Created = old.CloneMode, old.Created
	}
	return a
}
