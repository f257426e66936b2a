package quota_test

import (
	"context"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
)

// kept are VMs whose group was deleted.
type kept struct {
	of   policy.Requester
	left policy.Usage
}

func (r *replica) Remnants(context.Context) (all []quota.Remnant, _ error) {
	for id, k := range r.m.kept {
		all = append(all, quota.Remnant{Group: quota.Group{UID: id.UID, Name: "g", Requester: k.of}, Stands: k.left})
	}
	return all, nil
}

// delete removes a group, and its VMs unless they are kept.
func (m *model) delete(i int, keeps bool) {
	o, r, left := &m.objects[i], m.replicas[m.holder[i]], policy.Usage{}
	if !o.exists || r.view[i].version != o.version {
		return
	}
	if left = o.holds(); keeps && left.VMs > 0 {
		left.Groups = 0
		m.kept[m.key(i)] = kept{place(i), left}
	} else {
		left = policy.Usage{}
	}
	r.ledger.GiveBack(m.key(i), left, left, v1alpha1.Epoch{Generation: 1, Number: m.epoch[i]})
	*o = object{version: o.version + 1}
	r.view[i] = *o
}

// settleKept checks the entries of the remaining VMs of deleted groups, as far as there are any, and removes them.
func (m *model) settleKept(entries map[quota.Key]quota.Entry) {
	for id, k := range m.kept {
		if e, ok := entries[id]; ok && e.Usage != k.left {
			m.t.Fatalf("of %s are left %+v and the ledger says %+v", id.UID, k.left, e.Usage)
		}
		delete(entries, id)
	}
}
