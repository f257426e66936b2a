// Package policydice generates random policies and requests about groups from small sets of values, so that limits are met, kept and exceeded about equally
// often. Tests use them to compare the layers that validate groups.
package policydice

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// Dice generates values. They depend only on its seed.
type Dice struct{ *rand.Rand }

// New returns Dice with a seed.
func New(seed uint64) Dice { return Dice{rand.New(rand.NewPCG(36, seed))} }

// One returns one of values.
func One[T any](d Dice, values ...T) T { return values[d.IntN(len(values))] }

// OneIn returns true once in n times.
func (d Dice) OneIn(n int) bool { return d.IntN(n) == 0 }

func (d Dice) maybe() bool { return d.OneIn(2) }

// amount returns an amount of memory. Some are invalid or have an unusual form.
func (d Dice) amount() *v1alpha1.Amount {
	text := One(d, "1Gi", "2Gi", "3.5Gi", "4G", "8Gi")
	if d.OneIn(12) {
		text = One(d, "1e1.5", "1e3.", "1E1.0", "1e99999999999999999999", "10E", "1e19", "12E", "1e30", "9E", "16Ei", "-1Gi", "", "4e9", "4294967296", ".5Gi", "3000000000000m")
	}
	return new(v1alpha1.Amount(text))
}

// odd replaces the text by one that is no name, once in 40 times.
func (d Dice) odd(text string) string {
	if d.OneIn(40) {
		return One(d, "x\u007fy", "x\u0085y", " \u0085x", "a\nb", "x\ufffe", "x\u2028y")
	}
	return text
}

func (d Dice) counts(values ...int32) *v1alpha1.CountRange {
	r := &v1alpha1.CountRange{}
	if d.maybe() {
		r.Min = new(One(d, values...))
	}
	if d.maybe() {
		r.Max = new(One(d, values...))
	}
	return r
}

func (d Dice) amounts() *v1alpha1.AmountRange {
	r := &v1alpha1.AmountRange{}
	if d.OneIn(3) {
		r.Min = d.amount()
	}
	if d.maybe() {
		r.Max = d.amount()
	}
	return r
}

func (d Dice) patterns() []string {
	list := make([]string, 0, 2)
	for range d.IntN(cap(list) + 1) {
		list = append(list, d.odd(One(d, "linux-*", "*-12", "linux-12", "windows-*", "*", "/DC0/vm/*", "*x*n*", "l.nux-12", "*/linux-12", "/",
			"LINUX-*", "a%2Fl*", "*%25*", "12", "Ü*", "b*")))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Policy returns a policy.
func (d Dice) Policy() v1alpha1.VmGroupPolicySpec {
	spec := v1alpha1.VmGroupPolicySpec{Priority: One[int32](d, 0, 1), Mode: One(d, v1alpha1.PolicyEnforce, v1alpha1.PolicyEnforce, v1alpha1.PolicyWarn)}
	if d.maybe() {
		spec.Limits = &v1alpha1.PolicyLimits{CPU: d.counts(1, 2, 3, 4), Replicas: d.counts(0, 1, 2, 3)}
		if d.maybe() {
			spec.Limits.Memory = d.amounts()
		}
		if d.OneIn(3) {
			spec.Limits.Disk = d.amounts()
		}
	}
	if d.maybe() {
		spec.Templates = &v1alpha1.PolicyTemplates{Allow: d.patterns(), Deny: d.patterns()}
	}
	if d.maybe() {
		spec.Defaults = &v1alpha1.PolicyDefaults{CPU: One[int32](d, 0, 2, 4), Memory: One[int32](d, 0, 1, 8), Template: d.odd(One(d, "", "linux-12")), VCenter: d.odd(One(d, "", "", "east")), Disk: One[int32](d, 0, 0, 5, 101)}
	}
	if d.maybe() {
		spec.Match.Exclude = []string{d.odd(One(d, "dev", "de*", "*v", "prod", "p*", "*e*v*"))}
	}
	if d.maybe() {
		requirement := metav1.LabelSelectorRequirement{
			Key: One(d, "stage", "team"), Operator: One(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist),
		}
		if requirement.Operator == metav1.LabelSelectorOpIn || requirement.Operator == metav1.LabelSelectorOpNotIn {
			requirement.Values = []string{One(d, "dev", "prod")}
		}
		spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}
		if d.IntN(4) == 0 {
			spec.Match.NamespaceSelector.MatchLabels = map[string]string{"stage": One(d, "dev", "prod", "not valid!")}
		}
	}
	if d.OneIn(6) {
		spec.Quota = &v1alpha1.PolicyQuota{Storage: d.amount()}
	}
	return spec
}

// Spec returns a spec of a group as a user can write it. A complete one has all fields that the schema requires.
func (d Dice) Spec(complete bool) map[string]any {
	spec := map[string]any{
		"cpu": One(d, 1, 2, 3, 4, 5), "memory": One(d, 1, 2, 3, 4, 8, 9),
		"template": One(d, "linux-12", "windows-11", "/DC0/vm/linux-12", "a/windows-12/", "\"quoted\" ü", "//", "linux\u200b-12\u3000", "x\u007f-12",
			"a/linux-12", "A%2flinux-12", "b/a/12", "/DC0/vm/a/linux-12", "LINUX-12", "50%25-x", "%252f", "ü-1", "a/b/c/d/e/f/g/h/i/j/k/l/m", "R&D\u2028<12>"),
	}
	if left := One(d, "cpu", "memory", "template"); !complete && d.IntN(6) == 0 {
		delete(spec, left)
	}
	if d.OneIn(4) {
		spec["vcenter"] = One(d, "", "east", "default")
	}
	switch {
	case d.OneIn(10):
		spec["cloneMode"] = One(d, "Linked", "LinkedPreferred")
	case d.OneIn(4):
		spec["disks"] = d.disks()
	}
	if d.OneIn(10) {
		spec["updateStrategy"] = map[string]any{"replaceTrigger": "again"}
	}
	if d.maybe() {
		spec["replicas"] = One(d, 0, 1, 2, 3, 4)
	}
	return spec
}

// Request returns a request with its policies.
func (d Dice) Request(number int) policytest.Case {
	c := policytest.Case{
		Name: fmt.Sprint("request ", number), Member: "m1", Group: "web", Namespace: "dev",
		Policies: map[string]v1alpha1.VmGroupPolicySpec{}, NamespaceLabels: map[string]string{"stage": "dev"},
	}
	for i := range d.IntN(4) {
		c.Policies[fmt.Sprint("p", i)] = d.Policy()
	}
	if d.maybe() {
		c.Old = d.Spec(true)
	}
	if c.Old != nil && d.IntN(3) == 0 {
		c.Scale = new(One[int32](d, 0, 1, 2, 3, 4))
	} else {
		c.Spec = d.Spec(false)
	}
	if c.Spec != nil && c.Old != nil && d.maybe() {
		c.Spec = d.edited(c.Old, c.Spec)
	}
	return c
}

// disks returns a root disk, data disks, or both.
func (d Dice) disks() map[string]any {
	disks := map[string]any{}
	if d.OneIn(2) {
		disks["root"] = map[string]any{"sizeGiB": One(d, 1, 2, 4, 8, 9, 100, 101)}
	}
	if d.OneIn(2) {
		data := make([]any, 0, 2)
		for _, name := range []string{"data", "logs"}[d.IntN(2):] {
			data = append(data, map[string]any{"name": name, "sizeGiB": One(d, 1, 2, 4, 8, 9, 100, 101)})
		}
		disks["data"] = data
	}
	return disks
}

// edited returns a spec with one or two fields replaced by those of another spec, or removed.
func (d Dice) edited(old, other map[string]any) map[string]any {
	spec := maps.Clone(old)
	for range 1 + d.IntN(2) {
		field := One(d, "cpu", "memory", "template", "disks", "replicas", "vcenter", "cloneMode", "updateStrategy")
		if value, has := other[field]; has {
			spec[field] = value
		} else {
			delete(spec, field)
		}
	}
	return spec
}
