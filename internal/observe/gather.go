package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

type gatherer struct {
	*Observer
	View
	// foretells is true if the group possibly does not exist, so that no result for it is remembered.
	foretells bool
	// asked is the vCenter that was read last, and server is that vCenter, or nil.
	asked  string
	server vsphere.Server
}

// template is the data of the template that a spec names.
type template struct {
	path string
	// missing is true if the template certainly does not exist.
	missing bool
}

// gather reads all data that needs no call.
func (g *gatherer) gather(ctx context.Context, of *v1alpha1.VmGroup) (*group.Snapshot, error) {
	s := &group.Snapshot{
		Now: g.Now, Group: of, Revision: plan.Revision(of.Spec), Epoch: g.Epoch,
		ID:     vsphere.GroupID{Installation: g.Installation, Member: g.Member.UID, Group: string(of.UID)},
		Member: g.Member.Name, UserDataDenied: g.Member.UserDataSecrets != v1alpha1.UserDataAllow,
		Paused: group.Paused(of, g.Member.Name, g.Member.Paused), VCenter: group.VCenterOf(of), Folder: of.Status.Folder,
	}
	s.Believe(g.Record(g.Member, s.ID.Key()))
	s.VCenter = g.vcenterOf(ctx, s)
	namespace, err := lookUpNamespace(ctx, g.Cache, g.Member.Name, of.Namespace)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	s.Requester = policy.Requester{Member: g.Member.Name, Namespace: of.Namespace, NamespaceLabels: namespace.Labels}
	s.Stranger = err != nil
	if s.Adoption = group.AdoptionOf(of); s.Adoption != nil {
		s.Adoption.AllowedUntil = g.Member.AdoptionUntil
		if g.Memory != nil {
			s.Adoption.Answer = g.Memory.Claimed(s.ID.Key(), of, s.Adoption.From)
		}
	}
	s.MassDeletion = group.MassDeletion{
		Limit: g.Member.MassDeletion, AllowedUntil: g.Member.AllowedUntil,
		NamespaceUID: string(namespace.UID), NamespaceConfirms: namespace.Annotations[v1alpha1.ConfirmDeletionAnnotation],
	}
	if err := g.look(ctx, s); err != nil {
		return nil, err
	}
	if err := g.lost(ctx, s); err != nil {
		return nil, err
	}
	if s.Group.DeletionTimestamp.IsZero() {
		missing := s.Names.TemplateMissing && len(s.Names.Denials) == 0
		if s.Violations, err = g.violations(ctx, s, of, template{s.Names.Template.Path, missing}); err != nil {
			s.PoliciesUnread = "The VmGroupPolicies on the hub cannot be read: " + err.Error()
		}
	}
	return s, nil
}

// vcenterOf returns the VCenter of the group: the one in status, unless the inventories contradict it.
func (g *gatherer) vcenterOf(ctx context.Context, s *group.Snapshot) string {
	recorded, wanted := group.VCenterOf(s.Group), group.WantedVCenter(s.Group)
	if recorded == wanted {
		return recorded
	}
	there := g.sees(s, wanted)
	var vcenter v1alpha1.VCenter
	if err := g.Hub.Get(ctx, types.NamespacedName{Name: recorded}, &vcenter); apierrors.IsNotFound(err) {
		if there.Complete && (s.Housed(there) || !s.Remembers()) {
			return wanted
		}
		return recorded
	}
	if here := g.sees(s, recorded); here.Complete && !here.Undetermined() && !s.Housed(here) && s.Housed(there) {
		return wanted
	}
	return recorded
}

// wrongRecord returns what to do if status names the wrong VCenter.
func wrongRecord(s *group.Snapshot) string {
	if s.VCenter == group.WantedVCenter(s.Group) {
		return ""
	}
	return fmt.Sprintf(". It is status.vcenter that names it, and status.vms names VMs there. Only if the group never had a VM there, remove status.vcenter (kubectl edit vmgroup %s -n %s --subresource=status)", s.Group.Name, s.Group.Namespace)
}

func (g *gatherer) sees(s *group.Snapshot, vcenter string) vsphere.Observation {
	inventory, ok := g.inventory(vcenter)
	if !ok || !inventory.Health().Reachable {
		return vsphere.Observation{}
	}
	return inventory.Observe(query(s, vsphere.Ref{}))
}

// query returns the query to a vCenter about the group, with this folder. Without a folder, it uses the folder's path.
func query(s *group.Snapshot, folder vsphere.Ref) vsphere.Query {
	q := vsphere.Query{ID: s.ID, Folder: folder, Templates: templatesOf(s), Created: s.Group.CreationTimestamp.Time}
	if folder.IsZero() {
		q.Path = s.FolderPath()
	}
	if key := group.GuestInfoKey(&s.Group.Spec); key != "" && s.Group.DeletionTimestamp.IsZero() {
		q.GuestInfo = vsphere.GuestInfoQuery{Key: key, Value: s.Group.Spec.Readiness.GuestInfo.Value}
	}
	return q
}

// templatesOf returns the templates from which clones of the group can be running: those of its spec, of its admitted shape, and of its VMs' older shapes. If a
// clone was decided on for yet another shape, whose template is unknown, it returns none, which stands for all.
func templatesOf(s *group.Snapshot) []string {
	of := map[string]string{s.Revision: s.Group.Spec.Template}
	for _, old := range s.OldRevisions() {
		of[old.Revision] = old.Template
	}
	if a := s.Admitted; a != nil && a.Template != "" {
		of[a.Revision] = a.Template
	}
	for _, vm := range s.Group.Status.VMs {
		if _, known := of[vm.Revision]; vm.MoRef == "" && !known {
			return nil
		}
	}
	return slices.Compact(slices.Sorted(maps.Values(of)))
}

func (g *gatherer) look(ctx context.Context, s *group.Snapshot) error {
	name := s.VCenter
	unavailable := func(reason string, terminal bool, format string, args ...any) {
		s.Unavailable = &plan.Blocker{Reason: reason, Terminal: terminal, Message: fmt.Sprintf(format, args...)}
		s.See(vsphere.Observation{Incomplete: s.Unavailable.Message})
	}
	var vcenter v1alpha1.VCenter
	switch err := g.Hub.Get(ctx, types.NamespacedName{Name: name}, &vcenter); {
	case apierrors.IsNotFound(err):
		unavailable(v1alpha1.ReasonVCenterNotFound, true,
			"VCenter %q does not exist on the hub; ask a hub administrator to create it, or delete this VmGroup and create one that names another%s", name, wrongRecord(s))
		return nil
	case err != nil:
		return fmt.Errorf("read VCenter %q from the hub: %w", name, err)
	}
	// If a group has no grant for a vCenter, its conditions must not reveal the vCenter's state.
	denial := policy.CheckVCenter(name, vcenter.Spec.Grants, s.Requester)
	if denial != nil {
		deny(&s.Names, *denial)
		deny(&s.AdmittedNames, *denial)
	}
	if reason, message := refusesNewGroups(&vcenter); denial == nil && reason != "" && group.IsNew(s.Group) {
		unavailable(reason, true, "%s", message)
		return nil
	}
	inventory, ok := g.inventory(name)
	if !ok {
		unavailable(v1alpha1.ReasonVCenterUnreachable, false,
			"the operator has no connection to VCenter %q yet; its conditions on the hub have the reason (kubectl describe vcenter %s)", name, name)
		return nil
	}
	health := inventory.Health()
	s.Predecessors = group.Predecessors{Member: g.Member.Predecessor, VCenter: health.Predecessor}
	if !health.Reachable {
		unavailable(v1alpha1.ReasonVCenterUnreachable, false,
			"VCenter %q cannot be reached, so nothing is created or deleted; its conditions on the hub have the reason (kubectl describe vcenter %s)", name, name)
	}
	g.observe(s, inventory, vcenter.Annotations[v1alpha1.AcceptInstanceAnnotation])
	if denial != nil || !s.Group.DeletionTimestamp.IsZero() {
		return nil
	}
	resolver := resolver{vcenter: name, inventory: inventory, grants: vcenter.Spec.Grants, requester: s.Requester}
	s.Names = resolver.resolve(s.Group.Spec)
	if s.Reshaped() {
		s.AdmittedNames = resolver.resolve(policy.AdmittedSpec(s.Group.Spec, *s.Admitted))
	}
	for _, old := range s.OldRevisions() {
		s.Old = append(s.Old, g.oldShape(ctx, s, resolver, old))
	}
	return nil
}

// oldShape resolves the names of an older revision, and checks policies for it.
func (g *gatherer) oldShape(ctx context.Context, s *group.Snapshot, r resolver, recorded v1alpha1.Revision) group.OldShape {
	old := group.OldShape{Recorded: recorded, Shape: group.Shape{Spec: plan.Apply(recorded, s.Group.Spec)}}
	old.Names = r.resolve(old.Spec)
	of := &v1alpha1.VmGroup{TypeMeta: s.Group.TypeMeta, ObjectMeta: s.Group.ObjectMeta, Spec: old.Spec, Status: v1alpha1.VmGroupStatus{VCenter: s.Group.Status.VCenter}}
	var err error
	if old.Violations, err = g.judge(ctx, s, of, template{path: old.Names.Template.Path}); err != nil {
		old.PoliciesUnread = "The VmGroupPolicies on the hub cannot be read: " + err.Error()
	}
	return old
}

// refusesNewGroups returns why a VCenter accepts no group that has no VM in it yet; reason is empty if it does. Its existing groups are still served: a
// deletion waits for their removal, and a session with an earlier password works until it ends.
func refusesNewGroups(vcenter *v1alpha1.VCenter) (reason, message string) {
	if !vcenter.DeletionTimestamp.IsZero() {
		return v1alpha1.ReasonVCenterTerminating, fmt.Sprintf(
			"VCenter %q is being deleted and takes no new groups; delete this VmGroup and create one that names another, or ask a hub administrator", vcenter.Name)
	}
	if meta.IsStatusConditionFalse(vcenter.Status.Conditions, v1alpha1.ConditionCredentialsValid) {
		return v1alpha1.ReasonInvalidLogin, fmt.Sprintf(
			"VCenter %q refuses the operator's credentials and takes no new groups; ask a hub administrator to correct them", vcenter.Name)
	}
	return "", ""
}

// A status has at most this many VMs, and references of at most this length. A status that an API server made up can have any, and vCenter would be queried for
// each reference and remember it. VMs beyond these limits count as VMs that are not seen.
const mostKnown, longestMoRef = 1200, 128

// observe reads which VMs the group has. Status lists the known VMs and their folder; the operator uses it only as far as vCenter confirms it. accepted is the
// instance UUID that a hub administrator accepted for the vCenter, or empty.
func (g *gatherer) observe(s *group.Snapshot, inventory vsphere.Inventory, accepted string) {
	q := query(s, s.FolderRef())
	for _, vm := range s.Group.Status.VMs {
		ref, uuid := vm.MoRef, vm.UUID
		if ref == "" && vm.Replaces != nil {
			ref, uuid = vm.Replaces.MoRef, vm.Replaces.UUID
		}
		if ref != "" && len(ref) <= longestMoRef && len(uuid) <= longestMoRef && len(q.Known) < mostKnown {
			q.Record(vsphere.VMRef(ref), uuid)
		}
	}
	observation := inventory.Observe(q)
	g.SeeAdoption(s, inventory)
	s.ForeignRecord = s.NamesOfOthers(observation)
	// An invalid record is dropped first. Only after that, the query shows the object at the path of the group's folder.
	var others vsphere.Ref // a folder of others with the name of the group's folder
	for range 3 {
		home := s.Home(observation)
		if home == others {
			home = vsphere.Ref{}
		}
		if home == q.Folder {
			break
		}
		if s.Occupied(observation) {
			others = q.Folder
		}
		q.Folder, q.Path, s.Folder = home, s.FolderPath(), nil
		observation = inventory.Observe(q)
		if !home.IsZero() {
			s.Folder = &v1alpha1.FolderStatus{Path: observation.Folder.Path, MoRef: home.Value}
		}
	}
	if another := s.AnotherVCenter(observation, accepted); another != nil && s.Unavailable == nil {
		s.Unavailable, s.Folder = another, s.Group.Status.Folder
	}
	if s.Unavailable != nil {
		observation.Complete, observation.Incomplete = false, s.Unavailable.Message
	}
	s.See(observation)
}

func (g *gatherer) inventory(vcenter string) (_ vsphere.Inventory, ok bool) {
	g.asked = vcenter
	g.server, ok = g.Servers.Server(vcenter)
	return g.server, ok
}
