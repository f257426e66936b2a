package model

import (
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/group"
	"github.com/codeconnect/vmgroup-operator/internal/plan"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// catalog contains the templates, and the rules of grants and policies about them.
type catalog struct {
	templates map[string]*template
	// mostReplicas, leastReplicas and mostCPU are limits of a policy, or zero. unread means that policies cannot be read.
	mostReplicas, leastReplicas, mostCPU int
	unread                               bool
	// userDataMissing means that the Secret with user data does not exist.
	userDataMissing bool
}

// template is a template of the world's vCenter.
type template struct {
	exists, boots, hotAdd, granted, allowed bool
}

// templateNames are all names that specs can contain. The guests of "bad" never boot.
var templateNames = []string{"a", "b", "c", "bad"}

func newCatalog() catalog {
	c := catalog{templates: map[string]*template{}}
	for _, name := range templateNames {
		c.templates[name] = &template{exists: true, boots: name != "bad", hotAdd: name == "b", granted: true, allowed: true}
	}
	return c
}

// names resolves the names of a spec.
func (w *world) names(spec *v1alpha1.VmGroupSpec) group.Names {
	var n group.Names
	t := w.catalog.templates[spec.Template]
	switch {
	case w.vc.unreadCatalog:
		n.Unresolved = true
		n.Blocked = &plan.Blocker{Reason: v1alpha1.ReasonInventoryIncomplete, Message: "spec.template: the templates of the vCenter have not been read yet"}
	case !t.exists:
		n.Unresolved, n.TemplateMissing = true, true
		n.Blocked = &plan.Blocker{Reason: v1alpha1.ReasonTemplateNotFound, Terminal: true, Message: fmt.Sprintf("spec.template: template %s does not exist", spec.Template)}
	default:
		n.Template = vsphere.Template{Ref: vsphere.VMRef("template-" + spec.Template), Name: spec.Template, Path: "/DC0/vm/" + spec.Template, Host: "host-1"}
	}
	if !t.granted {
		n.Denials = []policy.Denial{{Field: "spec.template", Message: fmt.Sprintf("template %s is not granted", spec.Template)}}
		n.Blocked = &plan.Blocker{Reason: v1alpha1.ReasonNotGranted, Terminal: true, Message: "spec.template: " + n.Denials[0].Message}
	}
	network := "default"
	if spec.Placement != nil && spec.Placement.Network != "" {
		network = spec.Placement.Network
	}
	n.Placement = vsphere.ResolvedPlacement{Network: vsphere.Ref{Type: "Network", Value: network}, NetworkPath: "/DC0/network/" + network}
	return n
}

// violations returns the violations of policies in a spec.
func (w *world) violations(spec *v1alpha1.VmGroupSpec) (all []policy.Violation) {
	c := &w.catalog
	add := func(field string, value any, rule policy.Rule, detail string) {
		all = append(all, policy.Violation{Field: field, Value: value, Detail: detail, Policy: "shop", Rule: rule, Enforced: true})
	}
	if c.mostCPU > 0 && int(spec.CPU) > c.mostCPU {
		add("spec.cpu", spec.CPU, policy.RuleCPUMaximum, fmt.Sprintf("exceeds the maximum %d of VmGroupPolicy shop", c.mostCPU))
	}
	n := ptr.Deref(spec.Replicas, 1)
	if c.mostReplicas > 0 && int(n) > c.mostReplicas {
		add("spec.replicas", n, policy.RuleReplicasMaximum, fmt.Sprintf("exceeds the maximum %d of VmGroupPolicy shop", c.mostReplicas))
	}
	if int(n) < c.leastReplicas {
		add("spec.replicas", n, policy.RuleReplicasMinimum, fmt.Sprintf("is below the minimum %d of VmGroupPolicy shop", c.leastReplicas))
	}
	if !c.templates[spec.Template].allowed {
		add("spec.template", spec.Template, policy.RuleTemplateDenied, "is denied by VmGroupPolicy shop")
	}
	return all
}

// clonable reports whether VMs of this shape are allowed and can be cloned.
func (w *world) clonable(spec *v1alpha1.VmGroupSpec) bool {
	t := w.catalog.templates[spec.Template]
	return t.exists && t.granted && t.allowed && (w.catalog.mostCPU == 0 || int(spec.CPU) <= w.catalog.mostCPU) &&
		(spec.UserDataSecretRef == nil || !w.catalog.userDataMissing)
}

// permitted reports whether the spec is allowed as written, without quotas.
func (w *world) permitted(spec *v1alpha1.VmGroupSpec) bool {
	return len(w.violations(spec)) == 0 && w.clonable(spec) && !w.catalog.unread
}

// below reports whether the group is smaller than a policy's minimum.
func (w *world) below(spec *v1alpha1.VmGroupSpec) bool {
	return slices.ContainsFunc(w.violations(spec), func(v policy.Violation) bool { return v.Rule == policy.RuleReplicasMinimum })
}
