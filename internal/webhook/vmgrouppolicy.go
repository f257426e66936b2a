package webhook

import (
	"cmp"
	"context"
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// policyValidator checks VmGroupPolicies. It reports how many groups a policy would match, how many would violate it, and which
// other policy has other defaults. Any client that reaches the port can query that.
type policyValidator struct {
	reader client.Reader
	impact Impact
	// counting is held while groups are counted. One count at a time leaves the other cores to reviews.
	counting chan struct{}
}

func newPolicyValidator(reader client.Reader, impact Impact) policyValidator {
	return policyValidator{reader: reader, impact: impact, counting: make(chan struct{}, 1)}
}

var _ admission.Validator[*v1alpha1.VmGroupPolicy] = policyValidator{}

// ValidateCreate checks a new policy.
func (v policyValidator) ValidateCreate(ctx context.Context, p *v1alpha1.VmGroupPolicy) (admission.Warnings, error) {
	return v.check(ctx, p)
}

// ValidateUpdate checks a policy whose spec changes.
func (v policyValidator) ValidateUpdate(ctx context.Context, old, p *v1alpha1.VmGroupPolicy) (admission.Warnings, error) {
	if p.DeletionTimestamp != nil || apiequality.Semantic.DeepEqual(old.Spec, p.Spec) {
		return nil, nil
	}
	return v.check(ctx, p)
}

// ValidateDelete allows every deletion.
func (v policyValidator) ValidateDelete(context.Context, *v1alpha1.VmGroupPolicy) (admission.Warnings, error) {
	return nil, nil
}

func (v policyValidator) check(ctx context.Context, p *v1alpha1.VmGroupPolicy) (admission.Warnings, error) {
	spec := field.NewPath("spec")
	if err := policySize(spec, p); err != nil {
		return nil, refuse("VmGroupPolicy", p.Name, field.ErrorList{err})
	}
	match := spec.Child("match")
	var warn warnings
	errs := checkMemberPatterns(match.Child("memberClusters"), p.Spec.Match.MemberClusters)
	errs = append(errs, checkPatterns(match.Child("exclude"), p.Spec.Match.Exclude)...)
	if t := p.Spec.Templates; t != nil {
		errs = append(errs, checkPatterns(spec.Child("templates", "allow"), t.Allow)...)
		errs = append(errs, checkPatterns(spec.Child("templates", "deny"), t.Deny)...)
	}
	selector := checkSelector(match.Child("namespaceSelector"), p.Spec.Match.NamespaceSelector)
	errs = append(errs, selector...)
	// A policy that package policy cannot apply would make every group wait that it selects. It is refused here, with the message of
	// that package.
	problem := policy.Compile([]v1alpha1.VmGroupPolicy{*p}).Problems()[p.Name]
	if problem != "" && len(selector) == 0 {
		errs = append(errs, field.Invalid(spec, field.OmitValueType{}, problem))
	}
	if len(errs) == 0 {
		warnOwnDefaults(p, &warn)
		v.warnOtherDefaults(ctx, p, &warn)
		v.warnImpact(ctx, p, &warn)
	}
	return warn.result(), refuse("VmGroupPolicy", p.Name, atMostCauses(errs))
}

// warnOwnDefaults warns about defaults that violate the policy's own limits, or the default limits that the policy leaves in force.
func warnOwnDefaults(p *v1alpha1.VmGroupPolicy, warn *warnings) {
	if p.Spec.Defaults == nil {
		return
	}
	set := map[string]bool{}
	for _, d := range defaultsOf(p) {
		set[d.field] = d.value != ""
	}
	everywhere := v1alpha1.VmGroupPolicy{ObjectMeta: p.ObjectMeta, Spec: p.Spec}
	everywhere.Spec.Match = v1alpha1.PolicyMatch{}
	filled := v1alpha1.VmGroupSpec{CPU: p.Spec.Defaults.CPU, Memory: p.Spec.Defaults.Memory, Template: p.Spec.Defaults.Template}
	if size := p.Spec.Defaults.Disk; size != 0 {
		filled.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: size}}
	}
	for _, violation := range policy.Compile([]v1alpha1.VmGroupPolicy{everywhere}).Evaluate(policy.Requester{}, filled, "") {
		if !set[violation.Field] {
			continue
		}
		unless := ""
		if violation.Policy == "" {
			unless = ", unless another policy limits it"
		}
		warn.add("spec.defaults: groups that leave the field out are refused" + unless + ": " + violation.Error())
	}
}

// fieldDefault is a policy's default of a field, as text; empty without one.
type fieldDefault struct{ field, value string }

func defaultsOf(p *v1alpha1.VmGroupPolicy) []fieldDefault {
	var d v1alpha1.PolicyDefaults
	if p.Spec.Defaults != nil {
		d = *p.Spec.Defaults
	}
	number := func(n int32) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	return []fieldDefault{
		{"spec.cpu", number(d.CPU)}, {"spec.memory", number(d.Memory)}, {"spec.template", d.Template}, {"spec.vcenter", d.VCenter},
		{"spec.disks.root.sizeGiB", number(d.Disk)},
	}
}

// warnOtherDefaults warns if only the names of two policies decide whose default applies.
func (v policyValidator) warnOtherDefaults(ctx context.Context, p *v1alpha1.VmGroupPolicy, warn *warnings) {
	var others v1alpha1.VmGroupPolicyList
	if v.reader.List(ctx, &others) != nil {
		return
	}
	own := defaultsOf(p)
	for i := range others.Items {
		other := &others.Items[i]
		if other.Name == p.Name || other.Spec.Priority != p.Spec.Priority {
			continue
		}
		for k, theirs := range defaultsOf(other) {
			if mine := own[k]; mine.value != "" && theirs.value != "" && mine.value != theirs.value {
				first := min(p.Name, other.Name)
				warn.add(fmt.Sprintf("spec.defaults: VmGroupPolicy %q has the same priority and another default of %s; where both hold, that of %q is taken, the first by name",
					other.Name, mine.field, first))
				break
			}
		}
	}
}

func (v policyValidator) warnImpact(ctx context.Context, p *v1alpha1.VmGroupPolicy, warn *warnings) {
	if v.impact == nil {
		return
	}
	select {
	case v.counting <- struct{}{}:
		defer func() { <-v.counting }()
	default:
		warn.add("the number of groups that would break this policy is not known, since another one is being counted; status.violations has it soon")
		return
	}
	matched, broken, err := v.impact.PolicyImpact(ctx, p)
	if err != nil || broken == 0 {
		return
	}
	if cmp.Or(p.Spec.Mode, v1alpha1.PolicyEnforce) == v1alpha1.PolicyWarn {
		warn.add(fmt.Sprintf("%d of the %d groups that this policy applies to violate it; they are not held, because the policy's mode is Warn", broken, matched))
		return
	}
	warn.add(fmt.Sprintf("%d of the %d groups that this policy applies to violate it: they keep their VMs, but cannot grow until they comply", broken, matched))
}
