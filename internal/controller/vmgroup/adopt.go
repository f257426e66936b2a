package vmgroup

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// askedAdoption is for how long a refusal stands. To ask costs a list of all groups of the member, and whoever may annotate a group can have that done.
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
func (r *Reconciler) claimed(key vsphere.GroupKey, from string) *group.AdoptionAnswer {
	c := r.memory.of(key).adoption
	if c == nil || c.from != from || !c.until.IsZero() && !r.Now().Before(c.until) {
		return nil
	}
	if _, exists := r.Groups.entry(vsphere.KeyOf(key.Member(), from)); exists {
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
	a.Seen, a.Folders = inventory.Observe(q), map[vsphere.Ref]string{}
	for _, vm := range slices.Concat(a.Seen.VMs, a.Seen.Released) {
		if _, known := a.Folders[vm.Folder]; !known {
			a.Folders[vm.Folder] = inventory.Observe(vsphere.Query{ID: q.ID, Folder: vm.Folder}).Folder.Path
		}
	}
}

// claimAdoption claims the VMs of another group for this one, after it has read afresh that the other does not exist. Two groups that name the same
// one never both get an answer that lets them take VMs. The error is one of the member.
func (p *pass) claimAdoption(ctx context.Context, s *group.Snapshot) (*group.AdoptionAnswer, error) {
	a := s.Adoption
	if a.Legacy {
		return p.findLegacy(ctx, s)
	}
	groups, err := p.liveGroups(ctx)
	if err != nil {
		return nil, err
	}
	answer, again := p.claim(ctx, s, groups), time.Duration(0)
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
	p.r.memory.change(s.ID.Key(), func(m *remembered) { m.adoption = next })
	a.Answer = &answer
	seeAdoption(s, p.server) // with what the receipt lists
	return &answer, nil
}

// claim claims the receipt of a group that is none of these.
func (p *pass) claim(ctx context.Context, s *group.Snapshot, groups map[string]*metav1.ObjectMeta) group.AdoptionAnswer {
	from := s.Adoption.From
	blocked := func(b *plan.Blocker) group.AdoptionAnswer { return group.AdoptionAnswer{Blocked: b} }
	if other := groups[from]; other != nil {
		return blocked(s.AdoptsLiving(other))
	}
	key := vsphere.KeyOf(s.ID.Member, from)
	receipt, err := p.r.Receipts.Read(ctx, key)
	switch {
	case err != nil:
		return blocked(group.AdoptionUnread(err))
	case receipt != nil:
		if why := refusedBy(s, receipt, groups); why != nil {
			return blocked(why)
		}
	case s.MayClaimWithoutReceipt():
	case s.SeesOrphans() || s.HasAdopted():
		return group.AdoptionAnswer{} // a hub administrator has to allow it, or nothing is left and status was lost
	default:
		return blocked(s.NothingToAdopt())
	}
	self := receipts.Adopter{MemberUID: p.member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: string(s.Group.UID)}
	if receipt == nil || receipt.AdoptedBy == nil || !receipt.AdoptedBy.Is(self) {
		written := p.receiptOfAdoption(s)
		if receipt != nil {
			written = *receipt
		}
		if wait := p.r.HubWrites.Ask(p.member.UID, p.turn(s), written.Bytes()); wait > 0 {
			return blocked(s.AdoptionDelayed())
		}
		p.r.HubWrites.Settle(p.member.UID, writebudget.Receipt, written.Bytes(), written.Bytes())
	}
	if receipt != nil && receipt.AdoptedBy != nil && !receipt.AdoptedBy.Is(self) {
		// Whoever claimed them is gone, and took only VMs that carry its own stamp.
		err = p.r.Receipts.Unclaim(ctx, key, *receipt.AdoptedBy)
	}
	var claimed receipts.Receipt
	if err == nil {
		claimed, err = p.r.Receipts.Claim(ctx, key, p.receiptOfAdoption(s), self)
	}
	if err != nil {
		return blocked(group.AdoptionUnread(err))
	}
	answer := group.AdoptionAnswer{Claimed: true, Receipt: claimed.Cause != receipts.Adopted, Group: claimed.Group}
	for _, vm := range claimed.VMs {
		if vm.MoRef != "" {
			answer.Listed = append(answer.Listed, vsphere.VMRef(vm.MoRef))
		}
	}
	log.FromContext(ctx).Info("Claimed the VMs of a group that is gone", "from", from, "receipt", receipts.Name(key), "cause", claimed.Cause)
	return answer
}

// refusedBy says why a receipt does not let the group take the VMs, or returns nil.
func refusedBy(s *group.Snapshot, receipt *receipts.Receipt, groups map[string]*metav1.ObjectMeta) *plan.Blocker {
	switch by := receipt.AdoptedBy; {
	case receipt.Namespace != s.Group.Namespace:
		return s.NothingToAdopt()
	case receipt.VCenter != "" && receipt.VCenter != s.VCenter:
		return s.AdoptsElsewhere(receipt.VCenter)
	case by == nil || by.GroupUID == string(s.Group.UID):
	case groups[by.GroupUID] != nil:
		return s.AdoptedByAnother(groups[by.GroupUID])
	}
	return nil
}

// listPatience bounds a list of all groups of a member: 20,000 of them are 200 pages.
const listPatience = 4 * writeTimeout

// liveGroups reads afresh which groups the member has, by UID. Of each it keeps how it is called, and whether it is being deleted.
func (p *pass) liveGroups(ctx context.Context) (map[string]*metav1.ObjectMeta, error) {
	ctx, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	groups := map[string]*metav1.ObjectMeta{}
	if err := eachGroup(ctx, p.live, metav1.NamespaceAll, func(of *metav1.PartialObjectMetadata) bool {
		groups[string(of.UID)] = &metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: of.UID, DeletionTimestamp: of.DeletionTimestamp}
		return true
	}); err != nil {
		return nil, fmt.Errorf("read which VmGroups there are: %w", err)
	}
	return groups, nil
}

// receiptOfAdoption is what the hub keeps of VMs for which there was no receipt. The name of the group that they were of is in that of its folder.
func (p *pass) receiptOfAdoption(s *group.Snapshot) receipts.Receipt {
	r := receipts.Receipt{
		Cause: receipts.Adopted, MemberCluster: p.member.Name, MemberUID: p.member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: s.Adoption.From,
		VCenter: s.VCenter, InstanceUUID: s.Observation.InstanceUUID, Time: p.now.UTC().Truncate(time.Second),
	}
	for _, folder := range s.Adoption.Folders {
		if name, found := strings.CutSuffix(path.Base(folder), group.FolderName("", s.AdoptsFrom())); found {
			r.Group = name
		}
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
	if p.r.Quotas != nil && seen.Complete && len(seen.Unread)+len(seen.InFlight) == 0 {
		p.r.Quotas.Leave(quota.Key{Member: s.Member, UID: s.AdoptsFrom()}, group.Remains(id, &seen))
	}
	if folder := seen.Folder; !folder.Ref.IsZero() && folder.Ref != s.FolderRef() {
		if err := p.server.DestroyFolder(ctx, folder.Ref); err != nil {
			log.FromContext(ctx).Info("The folder of the group whose VMs were taken over stays", "folder", folder.Path, "reason", err.Error())
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
