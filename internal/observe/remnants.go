package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/group/orphans"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// KnownReceipts are the receipts of deleted groups, from memory. *receipts.Index implements it.
type KnownReceipts interface {
	Of(key receipts.Key) (receipts.Receipt, bool)
}

// remnants collects the data about groups that are in no cache.
type remnants struct {
	*Observer
	// members are the names of members with a MemberCluster, by cluster UID.
	members map[string]string
	// away are the cluster UIDs of members that are not served.
	away  map[string]bool
	found map[vsphere.GroupKey]*remnant
}

// remnant is the data about one of them.
type remnant struct {
	namespace, name string
	holds, stands   policy.Usage
	// granted is the hub's record.
	granted policy.Usage
}

// Remnants implements quota.Lister.
func (o *Observer) Remnants(ctx context.Context) ([]quota.Remnant, error) {
	var clusters v1alpha1.MemberClusterList
	if err := o.Hub.List(ctx, &clusters); err != nil {
		return nil, fmt.Errorf("read MemberClusters from the hub: %w", err)
	}
	var vcenters v1alpha1.VCenterList
	if err := o.Hub.List(ctx, &vcenters); err != nil {
		return nil, fmt.Errorf("read VCenters from the hub: %w", err)
	}
	m := remnants{Observer: o, members: map[string]string{}, away: map[string]bool{}, found: map[vsphere.GroupKey]*remnant{}}
	for i := range clusters.Items {
		of := &clusters.Items[i]
		uid := cmp.Or(of.Status.ClusterUID, of.Spec.ClusterUID)
		if served, engaged := o.Fleet.Member(of.Name); engaged {
			uid = served.UID
		}
		_, another := m.members[uid]
		switch {
		case o.Served(of.Name):
			m.members[uid] = of.Name
			delete(m.away, uid)
		case !another: // another MemberCluster of the same cluster
			m.members[uid], m.away[uid] = of.Name, true
		}
	}
	for i := range vcenters.Items {
		if server, ok := o.Servers.Server(vcenters.Items[i].Name); ok {
			m.look(server)
		}
	}
	if len(m.away) > 0 {
		if err := m.remember(ctx); err != nil {
			return nil, err
		}
	}
	return m.list(ctx), nil
}

// of returns the data about a group. It returns nil if its member has the group, or if no MemberCluster is its member.
func (m *remnants) of(key vsphere.GroupKey) *remnant {
	if r, ok := m.found[key]; ok {
		return r
	}
	if _, ok := m.members[key.Member()]; !ok {
		return nil
	}
	if _, known := m.Fleet.Group(key); known && !m.away[key.Member()] {
		return nil
	}
	r := &remnant{}
	m.found[key] = r
	return r
}

func (m *remnants) look(server vsphere.Inventory) {
	for _, key := range server.MarkedGroups() {
		r := m.of(key)
		if r == nil {
			continue
		}
		marked := server.Marked(key)
		if r.stands = r.stands.Add(group.Stands(marked)); r.namespace == "" {
			r.namespace, r.name = m.placed(server, key, marked)
		}
	}
}

// placed finds the namespace and the name of a group with VMs, for a new entry if the ledger has none. Sources are a receipt, a release mark, and for VMs with
// a stamp the place of their folder. If a receipt exists, stamped VMs count only if its cause is Released: for a forgotten group, an administrator has freed
// the quota, and adopted VMs count for their adopter as soon as it has them.
func (m *remnants) placed(server vsphere.Inventory, key vsphere.GroupKey, marked []vsphere.Marked) (namespace, name string) {
	receipt, known := m.KnownReceipts.Of(key)
	if known && receipt.Cause == receipts.Released {
		return receipt.Namespace, receipt.Group
	}
	for _, vm := range marked {
		folder := server.Observe(vsphere.Query{ID: vsphere.GroupID{Installation: m.Installation, Member: key.Member(), Group: key.Group()}, Folder: vm.Folder}).Folder
		at, own := orphans.PlaceOf(folder.Path, key.Group())
		own = own && at.Member == m.members[key.Member()]
		switch {
		case vm.Released && own && at.Namespace == vm.Namespace:
			return vm.Namespace, at.Name
		case vm.Released:
			namespace = vm.Namespace
		case own && !known && vm.Installation == m.Installation:
			return at.Namespace, at.Name
		}
	}
	return namespace, ""
}

// remember adds the hub's records about unreachable members, and their groups last seen.
func (m *remnants) remember(ctx context.Context) error {
	set, err := m.policies.get(ctx, m.Hub)
	if err != nil {
		return err
	}
	for uid := range m.away {
		records, err := m.Admitted.OfMember(uid)
		if err != nil {
			return fmt.Errorf("read what was admitted to the groups of MemberCluster %q: %w", m.members[uid], err)
		}
		for of, e := range records {
			if r := m.of(vsphere.KeyOf(uid, string(of))); r != nil {
				r.namespace, r.name, r.granted = e.Namespace, e.Name, recorded(e.Admitted)
				r.holds = r.granted
			}
		}
	}
	for key, g := range m.Fleet.In(fleet.Scope{}) {
		if !m.away[key.Member()] {
			continue
		}
		if r := m.of(key); r != nil {
			r.namespace, r.name, r.holds = g.Ref.Namespace, g.Ref.Name, r.holds.Max(g.Shows.Min(set.Largest(policy.Requester{Member: m.members[key.Member()], Namespace: g.Ref.Namespace})))
		}
	}
	return nil
}

func (m *remnants) list(ctx context.Context) []quota.Remnant {
	all := make([]quota.Remnant, 0, len(m.found))
	for key, r := range m.found {
		of := quota.Remnant{Stands: r.stands, Unlabeled: true}
		of.UID, of.Name, of.Holds, of.Granted = types.UID(key.Group()), r.name, r.holds, r.granted
		of.Requester = policy.Requester{Member: m.members[key.Member()], Namespace: r.namespace}
		if object, err := m.namespace(ctx, of.Requester); err == nil {
			of.Requester.NamespaceLabels, of.Unlabeled = object.Labels, false
		}
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b quota.Remnant) int { return cmp.Compare(a.UID, b.UID) })
	return all
}

var errAway = errors.New("the member is unreachable")

func (m *remnants) namespace(ctx context.Context, of policy.Requester) (*metav1.PartialObjectMetadata, error) {
	if of.Namespace == "" || !m.Served(of.Member) {
		return nil, errAway
	}
	cl, err := m.Clusters.GetCluster(ctx, multicluster.ClusterName(of.Member))
	if err != nil {
		return nil, fmt.Errorf("find the clients of member %q: %w", of.Member, err)
	}
	return lookUpNamespace(ctx, cl.GetClient(), of.Member, of.Namespace)
}
