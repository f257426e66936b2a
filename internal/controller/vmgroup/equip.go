package vmgroup

import (
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
)

// equip makes the table of effects. It must be called before the first pass.
func (r *Reconciler) equip() (err error) {
	r.effects, err = effect.New(effect.Deps{
		Shards: r.Shards, Fleet: r.Fleet, Hub: r.Hub, Definitions: r.Definitions, Observer: r.Observer, Policies: r.Observer, Quotas: r.Quotas, Records: r.Records,
		Receipts: r.Receipts, ReceiptSums: r.ReceiptSums, HubWrites: r.HubWrites, MemberEvents: r.MemberEvents, Newcomers: r.vanished, Now: r.Now,
	})
	return err
}
