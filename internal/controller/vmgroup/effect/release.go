package effect

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// MemberEvents writes events of MemberClusters, and does not block. *events.Members implements it.
type MemberEvents interface {
	Note(ctx context.Context, member, reason, action, note string)
}

// release removes the finalizer of the group, and withdraws its requests in vCenter and in quotas.
type release struct {
	quotas       Quotas
	records      Records
	hubWrites    *writebudget.Budget
	memberEvents MemberEvents
}

// Do implements Effect.
func (r release) Do(ctx context.Context, p *Pass, s *group.Snapshot, d group.Decision) (Outcome, error) {
	p.emit(ctx, s, d.Events)
	if err := p.Store.Release(ctx, s.Group); err != nil {
		return Outcome{}, err
	}
	if s.Receipt != nil {
		r.tellHub(ctx, p, s)
	}
	if p.Server != nil {
		p.Server.Forget(s.ID.Key())
	}
	r.hubWrites.Spend(p.Member.UID, writebudget.Record, r.records.Drop(admitted.KeyOf(s.ID.Key())))
	// If the vCenter is unreachable, status alone shows that there are no VMs: the ledger keeps the entry until vCenters show the
	// remaining VMs.
	if r.quotas != nil && (s.Unavailable == nil || s.Receipt != nil) {
		r.quotas.GiveBack(quotaKey(s), s.Leaves(), s.Leaves(), s.Epoch)
	}
	return Outcome{Ends: true}, nil
}

// tellHub reports on the hub a deleted group whose VMs stay. The keys of the line are stable: docs/how-to/keep-vms.md lists them.
func (r release) tellHub(ctx context.Context, p *Pass, s *group.Snapshot) {
	receipt := s.Receipt.Receipt
	vms := make([]string, 0, len(receipt.VMs))
	for _, vm := range receipt.VMs {
		vms = append(vms, fmt.Sprintf("%s (%s)", vm.Name, vm.MoRef))
	}
	reason, message, action := v1alpha1.EventGroupReleased, "A group went and kept its VMs", "Release"
	if receipt.Forgotten {
		reason, message, action = v1alpha1.EventGroupForgotten, "A group went without its vCenter", "Forget"
	}
	name := receipts.Name(s.ID.Key())
	log.FromContext(ctx).Info(message, "groupUID", s.Group.UID, "vcenter", s.VCenter, "receipt", name, "vms", vms)
	if r.memberEvents != nil && r.hubWrites.Afford(p.Member.UID, writebudget.Event, writebudget.EventBytes) {
		r.memberEvents.Note(ctx, p.Member.Name, reason, action, fmt.Sprintf("%s: VmGroup %s (UID %s), %d VMs in VCenter %q; the receipt is ConfigMap %s in the operator's namespace",
			message, untrusted.Name(s.Group.Namespace+"/"+s.Group.Name), untrusted.Name(string(s.Group.UID)), len(vms), s.VCenter, name))
	}
}
