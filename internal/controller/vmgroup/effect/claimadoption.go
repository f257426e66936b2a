package effect

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/memberapi"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// refusalInterval is how long a refused claim stays refused. A claim costs a read of the hub and up to two of the member, and
// each user who can annotate a group can cause it.
const refusalInterval = 30 * time.Second

// Claim is the last claim that this process made for a group, or tried to.
type Claim struct {
	// From is the UID of the other group.
	From   string
	Answer group.AdoptionAnswer
	// Until is when to ask again, zero for a granted claim.
	Until time.Time
}

// Observer reads what a vCenter shows.
type Observer interface {
	// SeeAdoption adds to the snapshot the VMs that the other group has left. It reads memory.
	SeeAdoption(s *group.Snapshot, vcenter vsphere.Inventory)
}

// claimAdoption claims the VMs of another group for this one, after the API server has shown that the other group does not
// exist. Of two groups that name the same other group, only one gets an answer that lets it adopt VMs.
//
// It reads no list: a list of a member can have any length. An annotation that names a UID is younger than the group with
// this UID, and the cache has both in their order. So the cache has the other group unless it was deleted. The API server is
// read by name, because a restored member can have the group again.
type claimAdoption struct {
	fleet     *fleet.Fleet
	observer  Observer
	receipts  receipts.Store
	hubWrites *writebudget.Budget
	legacy    legacyFolders
}

// Do implements Effect.
func (c claimAdoption) Do(ctx context.Context, p *Pass, s *group.Snapshot, _ group.Decision) (Outcome, error) {
	a := s.Adoption
	if a.Legacy {
		answer, err := c.legacy.find(ctx, p, s)
		a.Answer = answer
		return Outcome{}, err
	}
	answer, err := c.claim(ctx, p, s)
	if err != nil {
		a.Answer = nil
		return Outcome{}, err
	}
	next := Claim{From: a.From, Answer: answer}
	switch {
	case answer.Blocked != nil && answer.Blocked.Terminal:
		next.Until = p.Now.Add(refusalInterval)
	case !answer.Claimed:
		next.Until = p.Now.Add(group.AdoptionInterval)
	}
	p.Memory.Claim(next)
	a.Answer = &answer
	c.observer.SeeAdoption(s, p.Server) // with the VMs that the receipt lists
	return Outcome{}, nil
}

// claim claims the receipt of a group that does not exist. It reads the member only if a claim would follow.
func (c claimAdoption) claim(ctx context.Context, p *Pass, s *group.Snapshot) (group.AdoptionAnswer, error) {
	blocked := func(b *plan.Blocker) (group.AdoptionAnswer, error) { return group.AdoptionAnswer{Blocked: b}, nil }
	if other := c.cached(ctx, p, s.Adoption.From); other != nil {
		return blocked(s.AdoptsLiving(other))
	}
	receipt, err := c.receipts.Read(ctx, vsphere.KeyOf(s.ID.Member, s.Adoption.From))
	switch {
	case err != nil:
		return blocked(group.AdoptionUnread(err))
	case receipt != nil && receipt.Namespace != s.Group.Namespace:
		return blocked(s.NothingToAdopt())
	case receipt != nil && receipt.VCenter != "" && receipt.VCenter != s.VCenter:
		return blocked(s.AdoptsElsewhere(receipt.VCenter))
	case receipt != nil, s.MayClaimWithoutReceipt():
	case s.SeesOrphans() || s.HasAdopted():
		return group.AdoptionAnswer{}, nil // a hub administrator must allow it, or nothing is left and status was lost
	default:
		return blocked(s.NothingToAdopt())
	}
	if why, err := contender(ctx, p, s, receipt); why != nil || err != nil {
		return group.AdoptionAnswer{Blocked: why}, err
	}
	return c.stake(ctx, p, s, receipt), nil
}

// stake writes the claim into the receipt, which is nil if there is none yet.
func (c claimAdoption) stake(ctx context.Context, p *Pass, s *group.Snapshot, receipt *receipts.Receipt) group.AdoptionAnswer {
	key := vsphere.KeyOf(s.ID.Member, s.Adoption.From)
	self := receipts.Adopter{MemberUID: p.Member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: string(s.Group.UID)}
	if receipt == nil || receipt.AdoptedBy == nil || !receipt.AdoptedBy.Is(self) {
		written := receiptOfAdoption(p, s)
		if receipt != nil {
			written = *receipt
		}
		if wait := c.hubWrites.Ask(p.Member.UID, turn(s), written.Bytes()); wait > 0 {
			return group.AdoptionAnswer{Blocked: s.AdoptionDelayed()}
		}
		c.hubWrites.Settle(p.Member.UID, writebudget.Receipt, written.Bytes(), written.Bytes())
	}
	var err error
	if receipt != nil && receipt.AdoptedBy != nil && !receipt.AdoptedBy.Is(self) {
		// The group that claimed the VMs was deleted. It adopted only VMs that carry its own stamp.
		err = c.receipts.Unclaim(ctx, key, *receipt.AdoptedBy)
	}
	var claimed receipts.Receipt
	if err == nil {
		claimed, err = c.receipts.Claim(ctx, key, receiptOfAdoption(p, s), self)
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

// contender reads from the API server whether the other group exists, or the one that has claimed its VMs. It returns why the
// VMs are not free, or nil. The receipt was read before: a group that claims the VMs later makes this claim fail. The error is
// one of the member.
func contender(ctx context.Context, p *Pass, s *group.Snapshot, receipt *receipts.Receipt) (*plan.Blocker, error) {
	ctx, cancel := context.WithTimeout(ctx, memberapi.Timeout)
	defer cancel()
	names := s.AdoptedNames()
	if receipt != nil && !slices.Contains(names, receipt.Group) {
		names = append(names, receipt.Group)
	}
	for _, name := range names {
		other, err := memberapi.Group(ctx, p.Live, types.NamespacedName{Namespace: s.Group.Namespace, Name: name})
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
	other, err := memberapi.Group(ctx, p.Live, types.NamespacedName{Namespace: by.Namespace, Name: by.Group})
	if err != nil || other == nil || string(other.UID) != by.GroupUID {
		return nil, err
	}
	return s.AdoptedByAnother(other), nil
}

// cached returns the group of the member with this UID from the cache, or nil.
func (c claimAdoption) cached(ctx context.Context, p *Pass, uid string) *metav1.ObjectMeta {
	g, known := c.fleet.Group(vsphere.KeyOf(p.Member.UID, uid))
	if !known {
		return nil
	}
	of := &v1alpha1.VmGroup{}
	name := types.NamespacedName{Namespace: g.Ref.Namespace, Name: g.Ref.Name}
	if err := p.Cache.Get(ctx, name, of); err != nil || string(of.UID) != uid {
		return nil
	}
	return &of.ObjectMeta
}

// receiptOfAdoption is the receipt of VMs that had none. The name of their group is part of the name of its folder.
func receiptOfAdoption(p *Pass, s *group.Snapshot) receipts.Receipt {
	r := receipts.Receipt{
		Cause: receipts.Adopted, MemberCluster: p.Member.Name, MemberUID: p.Member.UID, Namespace: s.Group.Namespace, Group: s.Group.Name, GroupUID: s.Adoption.From,
		VCenter: s.VCenter, InstanceUUID: s.Observation.InstanceUUID, Time: p.Now.UTC().Truncate(time.Second),
	}
	if names := s.AdoptedNames(); len(names) > 0 {
		r.Group = names[0]
	}
	return r
}
