package vmgroup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// defaultVCenter is the VCenter of groups that name none.
const defaultVCenter = "default"

// userDataKey is the key of a user data Secret that is handed to cloud-init.
const userDataKey = "userdata"

// resolution is what the names in a group's spec stand for.
type resolution struct {
	// vcenter is the name of the VCenter that the group uses.
	vcenter string
	// server is nil when unavailable says why.
	server vsphere.Server
	// unavailable explains why vCenter cannot be looked at, or nil.
	unavailable *plan.Blocker
	// denials are what grants refuse.
	denials []policy.Denial
	// requester is whose group it is. stranger is true while the cache does not have the namespace, which is about to come:
	// nobody knows its labels, nor what is granted to it and which policies hold.
	requester policy.Requester
	stranger  bool
	// unresolved is true when something that spec names was not found, so that nobody knows whether it is granted;
	// templateMissing when the template certainly does not exist.
	unresolved, templateMissing bool
	// createBlocked explains why nothing may be cloned, or nil.
	createBlocked *plan.Blocker
	template      vsphere.Template
	placement     vsphere.ResolvedPlacement
	linked        bool
	userData      []byte
}

// vcenterOf returns the VCenter of a group: the one its VMs are in, whatever spec says since, else spec's.
func vcenterOf(group *v1alpha1.VmGroup) string {
	return cmp.Or(group.Status.VCenter, group.Spec.VCenter, defaultVCenter)
}

// resolve looks every name of the spec that is planned with up in memory. The error is one of reading Kubernetes.
func (p *pass) resolve(ctx context.Context) (resolution, error) {
	res := resolution{vcenter: vcenterOf(p.group)}
	var err error
	if res.requester, res.stranger, err = lookUpRequester(ctx, p.client, p.member.Name, p.group.Namespace); err != nil {
		return res, err
	}
	requester := res.requester
	var vcenter v1alpha1.VCenter
	switch err := p.r.Hub.Get(ctx, types.NamespacedName{Name: res.vcenter}, &vcenter); {
	case apierrors.IsNotFound(err):
		res.unavailable = &plan.Blocker{
			Reason: v1alpha1.ReasonVCenterNotFound, Terminal: true,
			Message: fmt.Sprintf("VCenter %q does not exist on the hub; ask the platform team to create it, or delete this VmGroup and create one that names another", res.vcenter),
		}
		return res, nil
	case err != nil:
		return res, fmt.Errorf("read VCenter %q from the hub: %w", res.vcenter, err)
	}

	// A group that may not use a vCenter must not learn its state from its own conditions either.
	if denial := policy.CheckVCenter(res.vcenter, vcenter.Spec.Grants, requester); denial != nil {
		res.deny(*denial)
	}

	server, ok := p.r.Servers.Server(res.vcenter)
	if !ok {
		res.unavailable = &plan.Blocker{
			Reason:  v1alpha1.ReasonVCenterUnreachable,
			Message: fmt.Sprintf("the operator has no connection to VCenter %q yet; its conditions on the hub say why (kubectl describe vcenter %s)", res.vcenter, res.vcenter),
		}
		return res, nil
	}
	res.server = server
	if health := server.Health(); !health.Reachable {
		res.unavailable = &plan.Blocker{
			Reason:  v1alpha1.ReasonVCenterUnreachable,
			Message: fmt.Sprintf("VCenter %q cannot be reached, so nothing is created or deleted; its conditions on the hub say why (kubectl describe vcenter %s)", res.vcenter, res.vcenter),
		}
	}
	if p.deleting() || len(res.denials) > 0 {
		return res, nil
	}
	if spec := p.spec.VCenter; spec != "" && spec != res.vcenter {
		res.unresolved = true
		res.block(v1alpha1.ReasonInvalidSpec, true, "spec.vcenter is %q, but the group's VMs are in %q and do not move; set it back, or create a new VmGroup", spec, res.vcenter)
		return res, nil
	}
	p.resolveTemplate(&res, vcenter.Spec.Grants, requester)
	p.resolvePlacement(&res, vcenter.Spec.Grants, requester)
	return res, nil
}

func (p *pass) resolveTemplate(res *resolution, grants []v1alpha1.Grant, requester policy.Requester) {
	name := p.spec.Template
	if name == "" {
		res.unresolved = true
		return // the planner reports the invalid spec
	}
	template, err := res.server.Template(name)
	if err != nil {
		// Whether a name exists is told only to those who were granted it.
		res.check(grants, requester, policy.Reference{
			Field: "spec.template", Kind: policy.TemplateReference, Given: name, Path: name,
		})
		res.templateMissing = vsphere.KindOf(err) == vsphere.KindNotFound
		res.blockUnresolved("spec.template", err, v1alpha1.ReasonTemplateNotFound, v1alpha1.ReasonTemplateAmbiguous)
		return
	}
	res.template = template
	res.check(grants, requester, policy.Reference{
		Field: "spec.template", Kind: policy.TemplateReference, Given: name, Path: template.Path,
	})
	switch p.spec.CloneMode {
	case v1alpha1.CloneLinked:
		res.linked = true
		if !template.HasSnapshot {
			res.block(v1alpha1.ReasonNotSupported, true, "spec.cloneMode is Linked, but template %q has no snapshot to link to; take one, or use LinkedPreferred or Full", template.Path)
		}
	case v1alpha1.CloneLinkedPreferred:
		res.linked = template.HasSnapshot
	case v1alpha1.CloneFull:
	}
}

func (p *pass) resolvePlacement(res *resolution, grants []v1alpha1.Grant, requester policy.Requester) {
	var want v1alpha1.Placement
	if p.spec.Placement != nil {
		want = *p.spec.Placement
	}
	placement, err := res.server.Placement(vsphere.Placement{
		ResourcePool: want.ResourcePool, Datastore: want.Datastore, Network: want.Network,
	})
	if err != nil {
		for _, ref := range placementReferences(want, want.ResourcePool, want.Datastore, want.Network) {
			res.check(grants, requester, ref)
		}
		res.blockUnresolved("spec.placement and the defaults of the VCenter", err, v1alpha1.ReasonPlacementNotFound, v1alpha1.ReasonPlacementAmbiguous)
		return
	}
	res.placement = placement
	for _, ref := range placementReferences(want, placement.ResourcePoolPath, placement.DatastorePath, placement.NetworkPath) {
		res.check(grants, requester, ref)
	}
}

// placementReferences are those that the group names itself; the VCenter's defaults need no grant.
func placementReferences(want v1alpha1.Placement, pool, datastore, network string) []policy.Reference {
	return slices.DeleteFunc([]policy.Reference{
		{Field: "spec.placement.resourcePool", Kind: policy.ResourcePoolReference, Given: want.ResourcePool, Path: pool},
		{Field: "spec.placement.datastore", Kind: policy.DatastoreReference, Given: want.Datastore, Path: datastore},
		{Field: "spec.placement.network", Kind: policy.NetworkReference, Given: want.Network, Path: network},
	}, func(ref policy.Reference) bool { return ref.Given == "" })
}

// resolveUserData reads the user data Secret afresh, and only for a clone that is about to be sent: the
// operator keeps no Secrets of members in memory.
func (p *pass) resolveUserData(ctx context.Context, res *resolution) error {
	ref := p.spec.UserDataSecretRef
	if ref == nil {
		return nil
	}
	if p.member.UserDataSecrets != v1alpha1.UserDataAllow {
		res.block(v1alpha1.ReasonUserDataDenied, true, "spec.userDataSecretRef is set, but MemberCluster %q does not allow it; remove it, or ask the platform team to set userDataSecrets: Allow", p.member.Name)
		return nil
	}
	var secret corev1.Secret
	err := p.liveReader.Get(ctx, types.NamespacedName{Namespace: p.group.Namespace, Name: ref.Name}, &secret)
	p.unwatched = err != nil || len(secret.Data[userDataKey]) == 0
	switch {
	case apierrors.IsNotFound(err):
		res.block(v1alpha1.ReasonUserDataNotFound, true, "Secret %q of spec.userDataSecretRef does not exist in namespace %q; create it", ref.Name, p.group.Namespace)
	case apierrors.IsForbidden(err):
		res.block(v1alpha1.ReasonUserDataDenied, true, "the operator may not read Secret %q in namespace %q of member cluster %q; the platform team has to grant it get on secrets there", ref.Name, p.group.Namespace, p.member.Name)
	case err != nil:
		return fmt.Errorf("read Secret %q of spec.userDataSecretRef: %w", ref.Name, err)
	case len(secret.Data[userDataKey]) == 0:
		res.block(v1alpha1.ReasonUserDataNotFound, true, "Secret %q of spec.userDataSecretRef has no key %q; add it", ref.Name, userDataKey)
	default:
		res.userData = secret.Data[userDataKey]
	}
	return nil
}

// check adds a denial when no grant covers ref.
func (res *resolution) check(grants []v1alpha1.Grant, requester policy.Requester, ref policy.Reference) {
	for _, denial := range policy.CheckReferences(res.vcenter, grants, requester, []policy.Reference{ref}) {
		res.deny(denial)
	}
}

func (res *resolution) deny(denial policy.Denial) {
	res.denials = append(res.denials, denial)
	// A denial outranks any other reason: it is what a person has to solve first.
	messages := make([]string, 0, len(res.denials))
	for _, d := range res.denials {
		messages = append(messages, d.Field+": "+d.Message)
	}
	res.createBlocked = &plan.Blocker{Reason: v1alpha1.ReasonNotGranted, Terminal: true, Message: strings.Join(messages, "; ")}
}

func (res *resolution) block(reason string, terminal bool, format string, args ...any) {
	if res.createBlocked == nil {
		res.createBlocked = &plan.Blocker{Reason: reason, Terminal: terminal, Message: fmt.Sprintf(format, args...)}
	}
}

// blockUnresolved explains why a name could not be resolved.
func (res *resolution) blockUnresolved(field string, err error, notFound, ambiguous string) {
	res.unresolved = true
	switch vsphere.KindOf(err) {
	case vsphere.KindNotFound:
		res.block(notFound, true, "%s: in VCenter %q: %v", field, res.vcenter, err)
	case vsphere.KindAmbiguous:
		res.block(ambiguous, true, "%s: in VCenter %q: %v", field, res.vcenter, err)
	case vsphere.KindNotTemplate:
		res.block(v1alpha1.ReasonNotATemplate, true, "%s: in VCenter %q: %v", field, res.vcenter, err)
	default:
		res.block(v1alpha1.ReasonInventoryIncomplete, false, "%s: in VCenter %q: %v", field, res.vcenter, err)
	}
}
