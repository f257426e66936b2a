package policy_test

import (
	"math"
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

func TestUsageOfAGroup(t *testing.T) {
	for _, c := range []struct {
		story string
		spec  v1alpha1.VmGroupSpec
		want  policy.Usage
	}{
		{"no spec is a group without VMs", v1alpha1.VmGroupSpec{}, policy.Usage{Groups: 1}},
		{"replicas left out are one", v1alpha1.VmGroupSpec{CPU: 2, Memory: 3, Template: "t"}, policy.Usage{Groups: 1, VMs: 1, CPU: 2, Memory: 3}},
		{"each VM counts", v1alpha1.VmGroupSpec{CPU: 2, Memory: 3, Replicas: new(int32(5))}, policy.Usage{Groups: 1, VMs: 5, CPU: 10, Memory: 15}},
		{"VMs that are off count", v1alpha1.VmGroupSpec{CPU: 2, Memory: 3, PowerState: v1alpha1.PoweredOff}, policy.Usage{Groups: 1, VMs: 1, CPU: 2, Memory: 3}},
		{"root disks count as stated", v1alpha1.VmGroupSpec{CPU: 2, Memory: 3, Replicas: new(int32(2)), Disks: rootDisk(40)}, policy.Usage{Groups: 1, VMs: 2, CPU: 4, Memory: 6, Storage: 80}},
		{"no VMs take nothing", v1alpha1.VmGroupSpec{CPU: 2, Memory: 3, Replicas: new(int32(0))}, policy.Usage{Groups: 1}},
		{"nothing is negative", v1alpha1.VmGroupSpec{CPU: -2, Memory: 3, Replicas: new(int32(-1))}, policy.Usage{Groups: 1}},
		{"nothing is negative where there are VMs", v1alpha1.VmGroupSpec{CPU: -2, Memory: -3, Replicas: new(int32(2))}, policy.Usage{Groups: 1, VMs: 2}},
		{
			"the largest numbers do not overflow",
			v1alpha1.VmGroupSpec{CPU: math.MaxInt32, Memory: math.MaxInt32, Replicas: new(int32(math.MaxInt32))},
			policy.Usage{Groups: 1, VMs: math.MaxInt32, CPU: math.MaxInt32 * math.MaxInt32, Memory: math.MaxInt32 * math.MaxInt32},
		},
	} {
		if got := policy.UsageOf(c.spec); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.story, got, c.want)
		}
	}
}

func rootDisk(sizeGiB int32) *v1alpha1.Disks {
	return &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: sizeGiB}}
}

func TestTotalsSaturate(t *testing.T) {
	most := policy.Usage{Groups: math.MaxInt64, VMs: math.MaxInt64, CPU: math.MaxInt64, Memory: math.MaxInt64 - 1, Storage: math.MaxInt64}
	if got := most.Add(policy.Usage{Groups: 1, VMs: math.MaxInt64, CPU: 0, Memory: 1, Storage: 1}); got.Groups != math.MaxInt64 ||
		got.VMs != math.MaxInt64 || got.CPU != math.MaxInt64 || got.Memory != math.MaxInt64 || got.Storage != math.MaxInt64 {
		t.Errorf("sum %+v", got)
	}
}

func TestQuotaScopeIsOneKeyPerTotal(t *testing.T) {
	quota := func(scope v1alpha1.QuotaScope) *policy.Policy {
		p := v1alpha1.VmGroupPolicy{Spec: v1alpha1.VmGroupPolicySpec{Quota: &v1alpha1.PolicyQuota{VMs: new(int32(1)), Scope: scope}}}
		return policy.Compile([]v1alpha1.VmGroupPolicy{p}).Quotas(policy.Requester{})[0]
	}
	here := policy.Requester{Member: "a", Namespace: "x"}
	for _, there := range []policy.Requester{{Member: "a", Namespace: "y"}, {Member: "b", Namespace: "x"}} {
		if one := quota(v1alpha1.QuotaNamespace); one.QuotaScope(here) == one.QuotaScope(there) {
			t.Errorf("%+v and %+v share a total per namespace", here, there)
		}
		if one := quota(v1alpha1.QuotaMatch); one.QuotaScope(here) != one.QuotaScope(there) {
			t.Errorf("%+v and %+v do not share the total of all", here, there)
		}
	}
	labeled := here
	labeled.NamespaceLabels = map[string]string{"a": "b"}
	if one := quota(""); one.QuotaScope(here) != one.QuotaScope(labeled) {
		t.Error("labels of a namespace change what is counted together")
	}
}

func TestVMsAreLeftBehindUnderAQuotaOnlyWhereItAllowsThat(t *testing.T) {
	of := func(retain v1alpha1.QuotaRetain, mode v1alpha1.PolicyMode) *policy.Set {
		return policy.Compile([]v1alpha1.VmGroupPolicy{{Spec: v1alpha1.VmGroupPolicySpec{
			Match: v1alpha1.PolicyMatch{MemberClusters: []string{"*"}}, Mode: mode, Quota: &v1alpha1.PolicyQuota{VMs: new(int32(9)), Retain: retain},
		}}})
	}
	group := func(deletion v1alpha1.DeletionPolicy, replicas int32) *v1alpha1.VmGroupSpec {
		return &v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Replicas: &replicas, Template: "t", DeletionPolicy: deletion}
	}
	retain, del := v1alpha1.DeletionRetain, v1alpha1.DeletionDelete
	for _, c := range []struct {
		story         string
		set           *policy.Set
		old, now      *v1alpha1.VmGroupSpec
		refused, kept int
	}{
		{"a new group that deletes", of("", ""), nil, group(del, 1), 0, 0},
		{"a new group that retains", of("", ""), nil, group(retain, 1), 1, 0},
		{"it is allowed", of(v1alpha1.RetainAllow, ""), nil, group(retain, 1), 0, 0},
		{"the policy warns", of("", v1alpha1.PolicyWarn), nil, group(retain, 1), 0, 1},
		{"a group that retained before", of("", ""), group(retain, 2), group(retain, 1), 0, 1},
		{"it grows", of("", ""), group(retain, 1), group(retain, 2), 1, 0},
		{"it is to retain from now on", of("", ""), group(del, 2), group(retain, 1), 1, 0},
		{"it is to delete from now on", of("", ""), group(retain, 1), group(del, 2), 0, 0},
		{"there is no quota", policy.Compile(nil), nil, group(retain, 1), 0, 0},
	} {
		refused, kept := c.set.Retained(policy.Requester{Member: "a", Namespace: "x"}, c.old, *c.now)
		if len(refused) != c.refused || len(kept) != c.kept {
			t.Errorf("%s: refused %v, kept %v", c.story, refused, kept)
		}
	}
}

func TestOnlyAnEnforcedQuotaLimitsADimension(t *testing.T) {
	quota := func(q v1alpha1.PolicyQuota, mode v1alpha1.PolicyMode) v1alpha1.VmGroupPolicy {
		return v1alpha1.VmGroupPolicy{Spec: v1alpha1.VmGroupPolicySpec{Quota: &q, Mode: mode}}
	}
	vms, cpus := v1alpha1.PolicyQuota{VMs: new(int32(1))}, v1alpha1.PolicyQuota{CPU: new(int64(0))}
	storage := v1alpha1.PolicyQuota{Storage: new(v1alpha1.Amount("1Ti"))}
	for story, c := range map[string]struct {
		policies []v1alpha1.VmGroupPolicy
		want     []policy.Rule
	}{
		"no policy":               {nil, []policy.Rule{policy.RuleQuotaVMs, policy.RuleQuotaCPU, policy.RuleQuotaMemory, policy.RuleQuotaStorage}},
		"one of VMs":              {[]v1alpha1.VmGroupPolicy{quota(vms, "")}, []policy.Rule{policy.RuleQuotaCPU, policy.RuleQuotaMemory, policy.RuleQuotaStorage}},
		"one that warns":          {[]v1alpha1.VmGroupPolicy{quota(vms, v1alpha1.PolicyWarn)}, []policy.Rule{policy.RuleQuotaVMs, policy.RuleQuotaCPU, policy.RuleQuotaMemory, policy.RuleQuotaStorage}},
		"one that cannot be used": {[]v1alpha1.VmGroupPolicy{quota(v1alpha1.PolicyQuota{Memory: new(v1alpha1.Amount("-1"))}, "")}, nil},
		"one of storage":          {[]v1alpha1.VmGroupPolicy{quota(storage, "")}, []policy.Rule{policy.RuleQuotaVMs, policy.RuleQuotaCPU, policy.RuleQuotaMemory}},
		"one of each two":         {[]v1alpha1.VmGroupPolicy{quota(vms, ""), quota(cpus, "")}, []policy.Rule{policy.RuleQuotaMemory, policy.RuleQuotaStorage}},
	} {
		if got := policy.Compile(c.policies).Unlimited(policy.Requester{}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", story, got, c.want)
		}
	}
}
