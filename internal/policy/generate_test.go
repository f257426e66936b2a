package policy_test

import (
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// Small domains, so that drawn values meet each other.
var (
	templates = []string{"linux-12", "linux-13", "windows-11", "images/linux-12", "/DC0/vm/private/linux-12"}
	paths     = []string{"", "/DC0/vm/images/linux-12", "/DC0/vm/private/windows-11"}
	patterns  = []string{"*", "linux-*", "*-11", "*images*", "/DC0/vm/images/*", "*/private/*", "linux-12", ""}
	names     = []string{"dev", "prod", "team-a"}
)

func some[T any](t *rapid.T, label string, g *rapid.Generator[T]) *T {
	if !rapid.Bool().Draw(t, label+"?") {
		return nil
	}
	return new(g.Draw(t, label))
}

func drawCounts(t *rapid.T, label string) *v1alpha1.CountRange {
	n := rapid.Int32Range(0, 9)
	return some(t, label, rapid.Custom(func(t *rapid.T) v1alpha1.CountRange {
		return v1alpha1.CountRange{Min: some(t, "min", n), Max: some(t, "max", n)}
	}))
}

func drawAmounts(t *rapid.T, label string) *v1alpha1.AmountRange {
	q := rapid.Custom(func(t *rapid.T) v1alpha1.Amount {
		if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
			return rapid.SampledFrom([]v1alpha1.Amount{"1e1.5", "1e99999999999999999999", "10E", "8Ei", "9E", "16777216Gi", "-1", "1e999999999", "", "2\u0085"}).Draw(t, "amount")
		}
		n := rapid.Int64Range(-1, 40).Draw(t, "quarters")<<28 + rapid.Int64Range(-1, 1).Draw(t, "bytes")
		return v1alpha1.Amount(strconv.FormatInt(n, 10))
	})
	return some(t, label, rapid.Custom(func(t *rapid.T) v1alpha1.AmountRange {
		return v1alpha1.AmountRange{Min: some(t, "min", q), Max: some(t, "max", q)}
	}))
}

func drawSelector(t *rapid.T) *metav1.LabelSelector {
	operator := rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist", "Sometimes"})
	return some(t, "selector", rapid.Custom(func(t *rapid.T) metav1.LabelSelector {
		s := metav1.LabelSelector{MatchLabels: rapid.MapOfN(rapid.SampledFrom(names), rapid.SampledFrom(names), 0, 1).Draw(t, "labels")}
		if r := some(t, "requirement", operator); r != nil {
			e := metav1.LabelSelectorRequirement{Key: "dev", Operator: *r}
			if *r == metav1.LabelSelectorOpIn || *r == metav1.LabelSelectorOpNotIn {
				e.Values = rapid.SliceOfN(rapid.SampledFrom(names), 1, 2).Draw(t, "values")
			}
			s.MatchExpressions = append(s.MatchExpressions, e)
		}
		return s
	}))
}

func drawPolicies(t *rapid.T) []v1alpha1.VmGroupPolicy {
	list := func(label string, from []string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(from), 0, 2).Draw(t, label)
	}
	count := rapid.IntRange(0, 5).Draw(t, "policies")
	out := make([]v1alpha1.VmGroupPolicy, 0, count)
	for i := range count {
		spec := v1alpha1.VmGroupPolicySpec{
			Priority: rapid.Int32Range(-1, 1).Draw(t, "priority"),
			Match: v1alpha1.PolicyMatch{
				MemberClusters: list("members", []string{"*", "team-*", "other"}), NamespaceSelector: drawSelector(t),
				Exclude: list("exclude", []string{"prod", "d*", "none"}),
			},
			Limits:    &v1alpha1.PolicyLimits{CPU: drawCounts(t, "cpu"), Memory: drawAmounts(t, "memory"), Disk: drawAmounts(t, "disk"), Replicas: drawCounts(t, "replicas")},
			Templates: &v1alpha1.PolicyTemplates{Allow: list("allow", patterns), Deny: list("deny", patterns), MustExist: rapid.Bool().Draw(t, "mustExist")},
			Defaults: &v1alpha1.PolicyDefaults{
				CPU: rapid.Int32Range(0, 9).Draw(t, "cpu"), Memory: rapid.Int32Range(0, 9).Draw(t, "memory"),
				Template: rapid.SampledFrom(append([]string{""}, templates...)).Draw(t, "template"),
				VCenter:  rapid.SampledFrom([]string{"", "east", "west"}).Draw(t, "vcenter"),
				Disk:     rapid.SampledFrom([]int32{0, 0, 5, 101}).Draw(t, "disk"),
			},
			Quota: &v1alpha1.PolicyQuota{
				Groups: some(t, "groups", rapid.Int32Range(0, 3)), VMs: some(t, "vms", rapid.Int32Range(0, 20)),
				CPU: some(t, "cpu", rapid.Int64Range(0, 90)), Storage: some(t, "storage", rapid.SampledFrom([]v1alpha1.Amount{"0", "40Gi", "100Gi"})), Scope: rapid.SampledFrom([]v1alpha1.QuotaScope{"", "Match", "Namespace"}).Draw(t, "scope"),
			},
			Mode: rapid.SampledFrom([]v1alpha1.PolicyMode{"", "Enforce", "Warn"}).Draw(t, "mode"),
		}
		out = append(out, v1alpha1.VmGroupPolicy{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}, Spec: spec})
	}
	return out
}

func drawSpec(t *rapid.T, label string) v1alpha1.VmGroupSpec {
	return rapid.Custom(func(t *rapid.T) v1alpha1.VmGroupSpec {
		spec := v1alpha1.VmGroupSpec{
			CPU: rapid.Int32Range(0, 12).Draw(t, "cpu"), Memory: rapid.Int32Range(0, 12).Draw(t, "memory"),
			Replicas: some(t, "replicas", rapid.Int32Range(0, 12)),
			Template: rapid.SampledFrom(append([]string{""}, templates...)).Draw(t, "template"),
			VCenter:  rapid.SampledFrom([]string{"", "east"}).Draw(t, "vcenter"),
		}
		if size := rapid.SampledFrom([]int32{0, 0, 1, 5, 9, 100, 101}).Draw(t, "disk"); size != 0 {
			spec.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: size}}
		}
		for _, name := range rapid.SampledFrom([][]string{nil, nil, {"data"}, {"data", "logs"}}).Draw(t, "data") {
			if spec.Disks == nil {
				spec.Disks = &v1alpha1.Disks{}
			}
			spec.Disks.Data = append(spec.Disks.Data, v1alpha1.DataDisk{Name: name, SizeGiB: rapid.SampledFrom([]int32{1, 5, 9, 100, 101}).Draw(t, name)})
		}
		return spec
	}).Draw(t, label)
}

func drawRequester(t *rapid.T) policy.Requester {
	name := rapid.SampledFrom(names)
	return policy.Requester{
		Member: rapid.SampledFrom([]string{"team-a", "other", "local"}).Draw(t, "member"), Namespace: name.Draw(t, "namespace"),
		NamespaceLabels: rapid.MapOfN(name, name, 0, 2).Draw(t, "namespaceLabels"),
	}
}
