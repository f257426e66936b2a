package fleet

import "github.com/codeconnect/vmgroup-operator/internal/vsphere"

// DeliverTo sends all later news of groups to enqueue, which must not block; first are those that go before all others.
func (f *Fleet) DeliverTo(enqueue func(of Ref, first bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enqueue = enqueue
}

// GroupChanged delivers a group. One that is not known is ignored: it is not ours, or not listed yet and will be reconciled
// when it is.
func (f *Fleet) GroupChanged(key vsphere.GroupKey) {
	f.mu.Lock()
	g, known := f.groups[key]
	enqueue := f.enqueue
	f.mu.Unlock()
	if known {
		enqueue(g.Ref, false)
	}
}

// VCenterChanged delivers each group that uses the vCenter.
func (f *Fleet) VCenterChanged(vcenter string) { f.deliver(Scope{VCenter: vcenter}, false) }

// NamespaceChanged delivers each group of the namespace.
func (f *Fleet) NamespaceChanged(member, namespace string) {
	f.deliver(Scope{Member: member, Namespace: namespace}, false)
}

// PoliciesChanged delivers each group.
func (f *Fleet) PoliciesChanged() { f.deliver(Scope{}, false) }

// Gained delivers each group of these buckets before all others: no replica has acted on them for a while.
func (f *Fleet) Gained(buckets []int) {
	if len(buckets) > 0 {
		f.deliver(Scope{Buckets: buckets}, true)
	}
}

func (f *Fleet) deliver(s Scope, first bool) {
	f.mu.Lock()
	enqueue := f.enqueue
	f.mu.Unlock()
	for _, g := range f.In(s) {
		enqueue(g.Ref, first)
	}
}
