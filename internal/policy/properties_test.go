package policy_test

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// everything is the complete answer of a set to a request, as text.
func everything(set *policy.Set, r policy.Requester, old, spec v1alpha1.VmGroupSpec, path string) string {
	defaulted := spec
	filled := set.Default(r, &defaulted)
	refused, kept := set.EvaluateUpdate(r, old, spec, path)
	no, yes := set.MissingTemplate(r, &old, spec, "default")
	out := fmt.Sprint(filled, defaulted.Shape().RootDiskGiB())
	defaulted.Disks = nil
	out += fmt.Sprint(defaulted, messages(set.Evaluate(r, spec, path)), messages(refused), messages(kept),
		messages(no), messages(yes), set.Problems())
	for _, p := range set.Quotas(r) {
		out += fmt.Sprint(p.Name(), messages(p.CheckQuota(r, "web", spec, policy.UsageOf(spec), policy.UsageOf(old), policy.Usage{VMs: 7, CPU: 20})))
	}
	return out
}

func TestTheOrderOfPoliciesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies, r := drawPolicies(t), drawRequester(t)
		old, spec, path := drawSpec(t, "old"), drawSpec(t, "spec"), rapid.SampledFrom(paths).Draw(t, "path")
		shuffled := rapid.Permutation(policies).Draw(t, "shuffled")
		one, other := everything(policy.Compile(policies), r, old, spec, path), everything(policy.Compile(shuffled), r, old, spec, path)
		if one != other {
			t.Fatalf("in another order of policies:\n%s\n%s", one, other)
		}
	})
}

func TestDefaultingIsIdempotentAndOverwritesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, r, old, spec := policy.Compile(drawPolicies(t)), drawRequester(t), drawSpec(t, "old"), drawSpec(t, "spec")
		once := map[string]v1alpha1.VmGroupSpec{}
		for name, fill := range map[string]func(*v1alpha1.VmGroupSpec) []string{
			"create": func(s *v1alpha1.VmGroupSpec) []string { return set.Default(r, s) },
			"update": func(s *v1alpha1.VmGroupSpec) []string { return set.DefaultUpdate(r, old, s) },
		} {
			first := spec
			filled := fill(&first)
			second := first
			if again := fill(&second); len(again) != 0 || !reflect.DeepEqual(first, second) {
				t.Fatalf("%s: filled %v again: %v, then %v", name, again, first, second)
			}
			if (len(filled) > 0) == reflect.DeepEqual(spec, first) {
				t.Fatalf("%s: filled %v: %v, then %v", name, filled, spec, first)
			}
			if spec.CPU != 0 && first.CPU != spec.CPU || spec.Memory != 0 && first.Memory != spec.Memory ||
				spec.Template != "" && first.Template != spec.Template || spec.VCenter != "" && first.VCenter != spec.VCenter ||
				spec.Shape().RootDiskGiB() != 0 && first.Shape().RootDiskGiB() != spec.Shape().RootDiskGiB() ||
				!slices.Equal(first.Shape().DataDisks(), spec.Shape().DataDisks()) || first.Replicas != spec.Replicas {
				t.Fatalf("%s: overwrote: %v, then %v", name, spec, first)
			}
			once[name] = first
		}
		if got := once["update"].VCenter; got != spec.VCenter && got != old.VCenter {
			t.Fatalf("an update moved the group from VCenter %q to %q", old.VCenter, got)
		}
	})
}

// Policies that all permit one shape, of which some set it as defaults, never refuse the fields that they fill in.
func TestWhatPoliciesFillInIsValidWhereTheyDoNotConflict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpu, memory, n := rapid.Int32Range(1, 64).Draw(t, "cpu"), rapid.Int32Range(1, 64).Draw(t, "memory"), rapid.Int32Range(0, 20).Draw(t, "replicas")
		around := func(label string, v int32) *v1alpha1.CountRange {
			return &v1alpha1.CountRange{
				Min: some(t, label, rapid.Int32Range(0, v)), Max: some(t, label, rapid.Int32Range(v, 99)),
			}
		}
		count := rapid.IntRange(1, 4).Draw(t, "policies")
		policies := make([]v1alpha1.VmGroupPolicy, 0, count)
		for i := range count {
			gib := around("memory", memory)
			limits := &v1alpha1.PolicyLimits{CPU: around("cpu", cpu), Replicas: around("replicas", n), Memory: &v1alpha1.AmountRange{}}
			if i == 0 { // the default limits have no room for the shape
				limits.CPU.Min, gib.Min, limits.Replicas.Min = new(cpu), new(memory), new(n)
			}
			if gib.Min != nil {
				least := int64(*gib.Min)<<30 - rapid.Int64Range(0, 1<<30-1).Draw(t, "less")
				limits.Memory.Min = new(v1alpha1.Amount(strconv.FormatInt(max(least, 0), 10)))
			}
			if gib.Max != nil {
				limits.Memory.Max = new(v1alpha1.Amount(strconv.FormatInt(int64(*gib.Max)<<30+rapid.Int64Range(0, 1<<30-1).Draw(t, "more"), 10)))
			}
			policies = append(policies, v1alpha1.VmGroupPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)},
				Spec: v1alpha1.VmGroupPolicySpec{
					Limits: limits,
					Templates: &v1alpha1.PolicyTemplates{
						Allow: rapid.SampledFrom([][]string{nil, {"linux-*"}, {"*/x/*", "*-12"}, {"/DC0/*"}}).Draw(t, "allow"),
						Deny:  rapid.SampledFrom([][]string{nil, {"windows-*"}, {"*-13", "*/old/*"}}).Draw(t, "deny"),
					},
					Defaults: &v1alpha1.PolicyDefaults{CPU: cpu, Memory: memory, Template: "linux-12"},
				},
			})
		}
		set, spec := policy.Compile(policies), v1alpha1.VmGroupSpec{Replicas: &n}
		set.Default(policy.Requester{}, &spec)
		for _, path := range []string{"", "/DC0/vm/linux-12"} {
			if violations := set.Evaluate(policy.Requester{}, spec, path); len(violations) > 0 {
				t.Fatalf("filled in %v, and then: %v", spec, messages(violations))
			}
		}
	})
}

func broken(violations []policy.Violation, rule policy.Rule) map[string]bool {
	out := map[string]bool{}
	for _, v := range violations {
		if v.Rule == rule {
			out[v.Policy] = true
		}
	}
	return out
}

func TestMoreNeverHelpsAgainstAMaximumNorHurtsAMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, r, less := policy.Compile(drawPolicies(t)), drawRequester(t), drawSpec(t, "spec")
		less.Template, less.Replicas = "linux-12", new(rapid.Int32Range(0, 9).Draw(t, "replicas"))
		less.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: rapid.Int32Range(1, 120).Draw(t, "disk")}} // unset is no size
		by := rapid.Int32Range(1, 9).Draw(t, "by")
		for _, c := range []struct {
			maximum, minimum policy.Rule
			raise            func(*v1alpha1.VmGroupSpec)
		}{
			{policy.RuleCPUMaximum, policy.RuleCPUMinimum, func(s *v1alpha1.VmGroupSpec) { s.CPU += by }},
			{policy.RuleMemoryMaximum, policy.RuleMemoryMinimum, func(s *v1alpha1.VmGroupSpec) { s.Memory += by }},
			{policy.RuleDiskMaximum, policy.RuleDiskMinimum, func(s *v1alpha1.VmGroupSpec) {
				s.Disks = &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: less.Disks.Root.SizeGiB + by}}
			}},
			{policy.RuleReplicasMaximum, policy.RuleReplicasMinimum, func(s *v1alpha1.VmGroupSpec) { s.Replicas = new(*s.Replicas + by) }},
		} {
			more := less
			c.raise(&more)
			before, after := set.Evaluate(r, less, ""), set.Evaluate(r, more, "")
			for name := range broken(before, c.maximum) {
				if !broken(after, c.maximum)[name] {
					t.Fatalf("more of it no longer breaks %s of %q: %v, then %v", c.maximum, name, less, more)
				}
			}
			for name := range broken(after, c.minimum) {
				if !broken(before, c.minimum)[name] {
					t.Fatalf("only more of it breaks %s of %q: %v, then %v", c.minimum, name, less, more)
				}
			}
		}
	})
}

func TestUpdatesRefuseWhatGetsWorseOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, r := policy.Compile(drawPolicies(t)), drawRequester(t)
		old, spec, path := drawSpec(t, "old"), drawSpec(t, "spec"), rapid.SampledFrom(paths).Draw(t, "path")

		if refused, _ := set.EvaluateUpdate(r, spec, spec, path); len(refused) > 0 {
			t.Fatalf("an update that changes nothing is refused: %v", messages(refused))
		}
		smaller := spec
		if n := policy.UsageOf(spec).VMs; n > 0 {
			smaller.Replicas = new(rapid.Int32Range(0, int32(n)).Draw(t, "smaller"))
		}
		if refused, _ := set.EvaluateUpdate(r, spec, smaller, path); len(refused) > 0 {
			t.Fatalf("shrinking from %v to %v is refused: %v", spec, smaller, messages(refused))
		}
		refused, kept := set.EvaluateUpdate(r, old, spec, path)
		if i := slices.IndexFunc(refused, func(v policy.Violation) bool { return !v.Enforced }); i >= 0 {
			t.Fatalf("refused by a policy that only warns: %v", refused[i])
		}
		// Both parts together are the violations of a new group with this spec, except those that do not apply to an update of an
		// existing one.
		both, all := messages(append(refused, kept...)), set.Evaluate(r, spec, path)
		if !reflect.ValueOf(old).IsZero() {
			all = slices.DeleteFunc(all, func(v policy.Violation) bool {
				return v.Rule == policy.RuleReplicasMinimum || !v.Enforced && !slices.Contains(both, v.Error())
			})
		}
		want := messages(all)
		slices.Sort(both)
		slices.Sort(want)
		if !slices.Equal(both, want) {
			t.Fatalf("an update breaks %v, want %v", both, want)
		}
		// From nothing, everything is worse.
		refused, _ = set.EvaluateUpdate(r, v1alpha1.VmGroupSpec{}, spec, path)
		if enforced, _ := policy.Split(set.Evaluate(r, spec, path)); !reflect.DeepEqual(refused, enforced) {
			t.Fatalf("a first spec is refused for %v, a new group for %v", messages(refused), messages(enforced))
		}
	})
}

// A policy that warns reports what it would refuse if it were enforced, for an update as for a new group.
func TestAPolicyThatWarnsSaysWhatItWouldRefuse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies, r := drawPolicies(t), drawRequester(t)
		old, spec := drawSpec(t, "old"), drawSpec(t, "spec")
		in := func(mode v1alpha1.PolicyMode) *policy.Set {
			for i := range policies {
				policies[i].Spec.Mode = mode
			}
			return policy.Compile(policies)
		}
		_, warned := in(v1alpha1.PolicyWarn).EvaluateUpdate(r, old, spec, "")
		refused, _ := in(v1alpha1.PolicyEnforce).EvaluateUpdate(r, old, spec, "")
		ofPolicies := func(violations []policy.Violation) []string {
			return messages(slices.DeleteFunc(violations, func(v policy.Violation) bool { return v.Policy == "" }))
		}
		if got, want := ofPolicies(warned), ofPolicies(refused); !slices.Equal(got, want) {
			t.Fatalf("%v, then %v: warned of %v, want %v", old, spec, got, want)
		}
	})
}

// If a group reaches a spec in steps, and no step makes it worse, then the whole way does not make it worse.
func TestTwoAcceptedUpdatesAreAsGoodAsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, r := policy.Compile(drawPolicies(t)), drawRequester(t)
		a, b, c := drawSpec(t, "a"), drawSpec(t, "b"), drawSpec(t, "c")
		first, _ := set.EvaluateUpdate(r, a, b, "")
		second, _ := set.EvaluateUpdate(r, b, c, "")
		whole, _ := set.EvaluateUpdate(r, a, c, "")
		// A rule that b keeps and c breaks is refused; so b broke each rule that c breaks, and neither step made it worse. Only an
		// empty spec lies between two unrelated specs. One rule is different: the size of a root disk can be removed.
		whole = slices.DeleteFunc(whole, func(v policy.Violation) bool { return v.Rule == policy.RuleDiskRequired })
		if len(first) == 0 && len(second) == 0 && len(whole) > 0 && !reflect.ValueOf(a).IsZero() && !reflect.ValueOf(b).IsZero() {
			t.Fatalf("%v, %v, %v: the whole way is refused: %v", a, b, c, messages(whole))
		}
	})
}

// liftsLimit reports, from the written fields, whether a policy lifts the default limit of a field that it bounds.
func liftsLimit(p *policy.Policy, field string) bool {
	return p.Enforced() && !strings.Contains(p.Problem(), "match.namespaceSelector") && !strings.Contains(p.Problem(), "limits."+field)
}

func hasEnd(r *v1alpha1.CountRange) bool { return r != nil && (r.Min != nil || r.Max != nil) }

func hasAmount(r *v1alpha1.AmountRange) bool { return r != nil && (r.Min != nil || r.Max != nil) }

// Each default limit applies on its own, and only if no enforced policy that matches has a usable range for its field.
func TestADefaultLimitHoldsUntilAnEnforcedPolicySetsIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies, r, spec := drawPolicies(t), drawRequester(t), drawSpec(t, "spec")
		spec.CPU = max(spec.CPU, 1) // a group without any spec has no violations
		set, limits := policy.Compile(policies), map[string]*v1alpha1.PolicyLimits{}
		for _, p := range policies {
			limits[p.Name] = p.Spec.Limits
		}
		var cpu, memory, disk, replicas bool // whether they are set
		for _, p := range set.Matching(r) {
			l := limits[p.Name()]
			cpu = cpu || hasEnd(l.CPU) && liftsLimit(p, "cpu")
			memory = memory || hasAmount(l.Memory) && liftsLimit(p, "memory")
			disk = disk || hasAmount(l.Disk) && liftsLimit(p, "disk")
			replicas = replicas || hasEnd(l.Replicas) && liftsLimit(p, "replicas")
		}
		want := map[policy.Rule]bool{
			policy.RuleCPUMaximum: !cpu && spec.CPU > 4, policy.RuleCPUMinimum: false,
			policy.RuleMemoryMaximum: !memory && spec.Memory > 8, policy.RuleMemoryMinimum: !memory && spec.Memory < 1,
			policy.RuleDiskMaximum: !disk && spec.Shape().RootDiskGiB() > 100, policy.RuleDiskMinimum: false,
			policy.RuleDataDiskMaximum: !disk && slices.ContainsFunc(spec.Shape().DataDisks(), func(d v1alpha1.DataDisk) bool { return d.SizeGiB > 100 }),
			policy.RuleReplicasMaximum: false, policy.RuleReplicasMinimum: !replicas && spec.Replicas != nil && *spec.Replicas < 1,
		}
		violations := set.Evaluate(r, spec, "")
		for rule, holds := range want {
			if got := broken(violations, rule)[""]; got != holds {
				t.Fatalf("default limit %s of %+v is broken: %v, want %v: %v", rule, spec, got, holds, messages(violations))
			}
		}
	})
}

// An additional policy that enforces no limits, whatever its other fields, allows nothing more.
func TestAPolicyThatEnforcesNoLimitsAllowsNothingMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies, r, spec := drawPolicies(t), drawRequester(t), drawSpec(t, "spec")
		more := drawPolicies(t)
		for i := range more {
			more[i].Name = "more-" + more[i].Name
			if rapid.Bool().Draw(t, "warns") {
				more[i].Spec.Mode = v1alpha1.PolicyWarn
			} else {
				more[i].Spec.Limits = nil
			}
		}
		before := messages(policy.Compile(policies).Evaluate(r, spec, ""))
		after := messages(policy.Compile(slices.Concat(policies, more)).Evaluate(r, spec, ""))
		for _, refusal := range before {
			if !slices.Contains(after, refusal) {
				t.Fatalf("with more policies, %q is missing: %v", refusal, after)
			}
		}
	})
}

func TestMatchingIsPartOfForMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, r := policy.Compile(drawPolicies(t)), drawRequester(t)
		var want []*policy.Policy
		for _, p := range set.ForMember(r.Member) {
			if p.Matches(r) {
				want = append(want, p)
			}
		}
		if got := set.Matching(r); !slices.Equal(got, want) {
			t.Fatalf("matching: %v, of those for the member: %v", got, want)
		}
	})
}

// Limits in whole GiB have the same result for whole GiB as the quantities themselves.
func TestRoundingOfMemoryChangesNoVerdict(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		milli := rapid.Int64Range(0, 12<<30*1000).Draw(t, "milli")
		gib := rapid.Int32Range(0, 13).Draw(t, "gib")
		if rapid.Bool().Draw(t, "near") {
			milli = int64(gib)<<30*1000 + rapid.Int64Range(-1001, 1001).Draw(t, "off")
		}
		q := *resource.NewMilliQuantity(max(milli, 0), resource.BinarySI)
		asked := resource.NewQuantity(int64(gib)<<30, resource.BinarySI)
		check := func(memory v1alpha1.AmountRange) bool {
			set := policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{Memory: &memory}}}})
			return len(set.Evaluate(policy.Requester{}, v1alpha1.VmGroupSpec{CPU: 1, Memory: gib, Template: "t"}, "")) > 0
		}
		if got, want := check(v1alpha1.AmountRange{Max: new(v1alpha1.Amount(q.String()))}), asked.Cmp(q) > 0; got != want {
			t.Fatalf("%d GiB with a maximum of %s: refused %v, want %v", gib, q.String(), got, want)
		}
		if got, want := check(v1alpha1.AmountRange{Min: new(v1alpha1.Amount(q.String()))}), asked.Cmp(q) < 0; got != want {
			t.Fatalf("%d GiB with a minimum of %s: refused %v, want %v", gib, q.String(), got, want)
		}
	})
}

func TestQuotasRefuseGrowthThatExceedsThemAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policies, r, spec := drawPolicies(t), drawRequester(t), drawSpec(t, "spec")
		quotas := map[string]*v1alpha1.PolicyQuota{}
		for _, p := range policies {
			quotas[p.Name] = p.Spec.Quota
		}
		n := rapid.OneOf(rapid.Int64Range(0, 100), rapid.Int64Range(math.MaxInt64-100, math.MaxInt64))
		usage := func(label string) policy.Usage {
			return policy.Usage{Groups: n.Draw(t, label), VMs: n.Draw(t, label), CPU: n.Draw(t, label), Memory: n.Draw(t, label), Storage: n.Draw(t, label)}
		}
		used, granted, want := usage("used"), usage("granted"), policy.UsageOf(spec)
		gibOf := func(a v1alpha1.Amount) int64 {
			q := resource.MustParse(string(a))
			return q.Value() >> 30
		}
		// In numbers that cannot overflow.
		exceeds := func(limit, want, granted, used int64) bool {
			sum := new(big.Int).Add(big.NewInt(used), big.NewInt(want))
			return want > granted && sum.Cmp(big.NewInt(limit)) > 0
		}
		for _, p := range policy.Compile(policies).Quotas(r) {
			violations, q := p.CheckQuota(r, "web", spec, policy.UsageOf(spec), granted, used), quotas[p.Name()]
			for rule, wanted := range map[policy.Rule]bool{
				policy.RuleQuotaGroups:  q.Groups != nil && exceeds(int64(*q.Groups), want.Groups, granted.Groups, used.Groups),
				policy.RuleQuotaVMs:     q.VMs != nil && exceeds(int64(*q.VMs), want.VMs, granted.VMs, used.VMs),
				policy.RuleQuotaCPU:     q.CPU != nil && exceeds(*q.CPU, want.CPU, granted.CPU, used.CPU),
				policy.RuleQuotaStorage: q.Storage != nil && exceeds(gibOf(*q.Storage), want.Storage, granted.Storage, used.Storage),
			} {
				if got := broken(violations, rule)[p.Name()]; got != wanted {
					t.Fatalf("%s of %+v: want %+v, granted %+v, used %+v: refused %v, want %v", rule, q, want, granted, used, got, wanted)
				}
			}
			if violations := p.CheckQuota(r, "web", spec, policy.UsageOf(spec), granted.Max(want), used); len(violations) > 0 {
				t.Fatalf("what is granted already is refused: %v", messages(violations))
			}
		}
		if granted.Covers(want) != (granted.Max(want) == granted) || !granted.Max(want).Covers(want) {
			t.Fatalf("%+v covers %+v: %v", granted, want, granted.Covers(want))
		}
	})
}
