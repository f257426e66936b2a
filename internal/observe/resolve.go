package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// resolver resolves the names in specs, and checks whether they are granted to the requester.
type resolver struct {
	vcenter   string
	inventory vsphere.Inventory
	grants    []v1alpha1.Grant
	requester policy.Requester
}

// resolve looks up every name of a spec in memory.
func (r resolver) resolve(spec v1alpha1.VmGroupSpec) group.Names {
	var names group.Names
	if spec.VCenter != "" && spec.VCenter != r.vcenter {
		names.Unresolved = true
		block(&names, v1alpha1.ReasonInvalidSpec, true, "spec.vcenter is %q, but the group's VMs are in %q and do not move; set it back, or create a new VmGroup", spec.VCenter, r.vcenter)
		return names
	}
	r.resolveTemplate(&names, spec)
	r.resolvePlacement(&names, spec)
	r.checkReach(&names, spec)
	checkTemplate(&names)
	checkDisk(&names, spec.Shape().RootDiskGiB())
	checkDataDisks(&names, len(spec.Shape().DataDisks()))
	return names
}

func (r resolver) resolveTemplate(names *group.Names, spec v1alpha1.VmGroupSpec) {
	name := spec.Template
	if name == "" {
		names.Unresolved = true
		return // the planner reports the invalid spec
	}
	template, err := r.inventory.Template(name)
	if err != nil {
		// Only requesters with a grant learn whether a name exists.
		r.check(names, policy.Reference{
			Field: "spec.template", Kind: policy.TemplateReference, Given: name, Path: name,
		})
		names.TemplateMissing = vsphere.KindOf(err) == vsphere.KindNotFound
		r.blockUnresolved(names, "spec.template", err, v1alpha1.ReasonTemplateNotFound, v1alpha1.ReasonTemplateAmbiguous)
		return
	}
	names.Template = template
	r.check(names, policy.Reference{
		Field: "spec.template", Kind: policy.TemplateReference, Given: name, Path: template.Path,
	})
	switch spec.CloneMode {
	case v1alpha1.CloneLinked:
		names.Linked = true
		if !template.HasSnapshot {
			block(names, v1alpha1.ReasonNotSupported, true, "spec.cloneMode is Linked, but template %q has no snapshot to link to; take one, or use LinkedPreferred or Full", template.Path)
		}
	case v1alpha1.CloneLinkedPreferred:
		names.Linked = template.HasSnapshot && spec.Shape().RootDiskGiB() == 0 // the disk of a linked clone cannot grow
	case v1alpha1.CloneFull:
	}
}

func (r resolver) resolvePlacement(names *group.Names, spec v1alpha1.VmGroupSpec) {
	var want v1alpha1.Placement
	if spec.Placement != nil {
		want = *spec.Placement
	}
	placement, err := r.inventory.Placement(vsphere.Placement{
		ResourcePool: want.ResourcePool, Datastore: want.Datastore, Network: want.Network,
	})
	if err != nil && vsphere.KindOf(err) != vsphere.KindSpec {
		for _, ref := range placementReferences(want, want.ResourcePool, want.Datastore, want.Network) {
			r.check(names, ref)
		}
		r.blockUnresolved(names, "spec.placement and the defaults of the VCenter", err, v1alpha1.ReasonPlacementNotFound, v1alpha1.ReasonPlacementAmbiguous)
		return
	}
	names.Placement = placement
	for _, ref := range placementReferences(want, placement.ResourcePoolPath, placement.DatastorePath, placement.NetworkPath) {
		r.check(names, ref)
	}
	if err != nil {
		block(names, v1alpha1.ReasonPlacementImpossible, true, "spec.placement and the defaults of the VCenter: in VCenter %q: %v", r.vcenter, err)
	}
}

// placementReferences returns the references that the group itself names; the VCenter's defaults need no
// grant.
func placementReferences(want v1alpha1.Placement, pool, datastore, network string) []policy.Reference {
	return slices.DeleteFunc([]policy.Reference{
		{Field: "spec.placement.resourcePool", Kind: policy.ResourcePoolReference, Given: want.ResourcePool, Path: pool},
		{Field: "spec.placement.datastore", Kind: policy.DatastoreReference, Given: want.Datastore, Path: datastore},
		{Field: "spec.placement.network", Kind: policy.NetworkReference, Given: want.Network, Path: network},
	}, func(ref policy.Reference) bool { return ref.Given == "" })
}

func (r resolver) check(names *group.Names, ref policy.Reference) {
	for _, denial := range policy.CheckReferences(r.vcenter, r.grants, r.requester, []policy.Reference{ref}) {
		deny(names, denial)
	}
}

func deny(names *group.Names, denial policy.Denial) {
	names.Denials = append(names.Denials, denial)
	// A denial has precedence over any other reason: the user must resolve it first.
	messages := make([]string, 0, len(names.Denials))
	for _, d := range names.Denials {
		messages = append(messages, d.Field+": "+d.Message)
	}
	names.Blocked = &plan.Blocker{Reason: v1alpha1.ReasonNotGranted, Terminal: true, Message: strings.Join(messages, "; ")}
}

func block(names *group.Names, reason string, terminal bool, format string, args ...any) {
	if names.Blocked == nil {
		names.Blocked = &plan.Blocker{Reason: reason, Terminal: terminal, Message: fmt.Sprintf(format, args...)}
	}
}

// blockUnresolved blocks with the reason why a name could not be resolved.
func (r resolver) blockUnresolved(names *group.Names, field string, err error, notFound, ambiguous string) {
	names.Unresolved = true
	switch vsphere.KindOf(err) {
	case vsphere.KindNotFound:
		block(names, notFound, true, "%s: in VCenter %q: %v", field, r.vcenter, err)
	case vsphere.KindAmbiguous:
		block(names, ambiguous, true, "%s: in VCenter %q: %v", field, r.vcenter, err)
	case vsphere.KindPermission:
		block(names, v1alpha1.ReasonPermissionDenied, true, "%s: in VCenter %q: %v", field, r.vcenter, err)
	case vsphere.KindNotTemplate:
		block(names, v1alpha1.ReasonNotATemplate, true, "%s: in VCenter %q: %v", field, r.vcenter, err)
	default:
		block(names, v1alpha1.ReasonInventoryIncomplete, false, "%s: in VCenter %q: %v", field, r.vcenter, err)
	}
}
