// Package offers answers what the groups of a namespace can use: templates, VCenters and what is left of quotas. It reads memory.
package offers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/inquiry"
	"github.com/codeconnect/vmgroup-operator/internal/inventoryname"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/untrusted"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

var errPolicies = errors.New("this replica of the operator has not read the VmGroupPolicies of the hub yet; try again in a few seconds")

// mostOffered is the maximum number of templates in one answer, and longestUnfit that of the characters of a reason.
const mostOffered, longestUnfit = 100, 160

// Policies are those of the hub.
type Policies interface {
	// Policies returns false until they have been read once.
	Policies(ctx context.Context) (*policy.Set, bool)
}

// Quotas are the totals of quotas. *quota.Ledger implements it.
type Quotas interface {
	Uses(ctx context.Context, by policy.Requester) []policy.Use
}

// Offers implements webhook.Offers. All fields are required.
type Offers struct {
	// Hub reads the hub's cache.
	Hub      client.Reader
	Servers  vsphere.Servers
	Policies Policies
	Quotas   Quotas
}

// Of returns the VCenters and quotas of a requester, or the templates of one VCenter behind the path after.
func (r *Offers) Of(ctx context.Context, by policy.Requester, vcenter, after string) (inquiry.Namespace, error) {
	set, ok := r.Policies.Policies(ctx)
	if !ok {
		return inquiry.Namespace{}, errPolicies
	}
	if vcenter != "" {
		return r.templates(ctx, set, by, vcenter, after)
	}
	var all v1alpha1.VCenterList
	if err := r.Hub.List(ctx, &all); err != nil {
		return inquiry.Namespace{}, fmt.Errorf("read VCenters from the hub: %w", err)
	}
	var offers inquiry.Namespace
	for i := range all.Items {
		if vc := &all.Items[i]; policy.CheckVCenter(vc.Name, vc.Spec.Grants, by) == nil {
			offers.VCenters = append(offers.VCenters, vc.Name)
		}
	}
	slices.Sort(offers.VCenters)
	unset := &v1alpha1.VmGroup{Spec: v1alpha1.VmGroupSpec{CPU: 1}} // a spec without any field gets no defaults
	set.Default(by, &unset.Spec)
	offers.VCenter = group.WantedVCenter(unset)
	for _, use := range r.Quotas.Uses(ctx, by) {
		offers.Quotas = append(offers.Quotas, quotaOf(use))
	}
	return offers, nil
}

// templates returns the templates of a VCenter that grants and policies let the requester use.
func (r *Offers) templates(ctx context.Context, set *policy.Set, by policy.Requester, name, after string) (offers inquiry.Namespace, err error) {
	var vcenter v1alpha1.VCenter
	if err := r.Hub.Get(ctx, types.NamespacedName{Name: name}, &vcenter); apierrors.IsNotFound(err) {
		offers.Unknown = fmt.Sprintf("VCenter %q does not exist on the hub", name)
		return offers, nil
	} else if err != nil {
		return offers, fmt.Errorf("read VCenter %q from the hub: %w", name, err)
	}
	if denial := policy.CheckVCenter(name, vcenter.Spec.Grants, by); denial != nil {
		offers.Unknown = denial.Message
		return offers, nil
	}
	server, ok := r.Servers.Server(name)
	if !ok {
		offers.Unknown = fmt.Sprintf("the operator has no connection to VCenter %q yet", name)
		return offers, nil
	}
	all, err := server.Templates()
	if err != nil {
		offers.Unknown = err.Error()
		return offers, nil //nolint:nilerr // the answer reports it
	}
	for _, t := range all {
		if t.Path <= after {
			continue
		}
		is := policy.Reference{Field: "spec.template", Kind: policy.TemplateReference, Given: t.Path, Path: t.Path}
		if len(policy.CheckReferences(name, vcenter.Spec.Grants, by, []policy.Reference{is})) > 0 || !set.AllowsTemplate(by, t.Path) {
			continue
		}
		if len(offers.Templates) == mostOffered {
			offers.More = true
			break
		}
		offers.Templates = append(offers.Templates, inquiry.Template{Name: nameOf(server, t), Path: t.Path, Linked: t.HasSnapshot && t.UnfitLinked == "", Unfit: untrusted.Text(t.Unfit, longestUnfit)})
	}
	return offers, nil
}

// nameOf returns the shortest text that refers to a template.
func nameOf(inventory vsphere.Inventory, t vsphere.Template) string {
	name := inventoryname.Shown(t.Path[strings.LastIndex(t.Path, "/")+1:])
	if found, err := inventory.Template(name); err == nil && found.Ref == t.Ref {
		return name
	}
	return t.Path
}

func quotaOf(use policy.Use) inquiry.Quota {
	limits, used := use.QuotaLimits(), policy.Usage{}
	if use.Used != nil {
		used = *use.Used
	}
	amount := func(hard *int64, used int64) *inquiry.Amount {
		switch {
		case hard == nil:
			return nil
		case use.Used == nil:
			return &inquiry.Amount{Hard: *hard}
		}
		return &inquiry.Amount{Used: &used, Hard: *hard}
	}
	return inquiry.Quota{
		Policy: use.Name(), Together: use.CountsTogether(), Warns: !use.Enforced(), Problem: untrusted.Text(use.Problem(), longestUnfit),
		Groups: amount(limits.Groups, used.Groups), VMs: amount(limits.VMs, used.VMs), CPU: amount(limits.CPU, used.CPU), Memory: amount(limits.Memory, used.Memory),
		Storage: amount(limits.Storage, used.Storage),
	}
}
