package policy_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/policy/policytest"
)

// answer is the result of the pure functions for a case, combined as in the webhook.
type answer struct {
	filled            []string
	spec              v1alpha1.VmGroupSpec
	refused, warnings []string
}

func evaluate(c policytest.Case) answer {
	set, r, old := c.Set(), c.Requester(), c.OldSpec()
	a := answer{spec: *c.NewSpec()}
	if c.Deleting {
		return a
	}
	switch {
	case c.Scale != nil: // a Scale has nothing to fill in
	case old == nil:
		a.filled = set.Default(r, &a.spec)
	default:
		a.filled = set.DefaultUpdate(r, *old, &a.spec)
	}
	var refused, kept []policy.Violation
	if old == nil {
		refused, kept = policy.Split(set.Evaluate(r, a.spec, c.TemplatePath))
	} else {
		refused, kept = set.EvaluateUpdate(r, *old, a.spec, c.TemplatePath)
	}
	if c.TemplateMissing {
		vcenter := a.spec.VCenter
		if vcenter == "" {
			vcenter = "default"
		}
		no, yes := set.MissingTemplate(r, old, a.spec, vcenter)
		refused, kept = append(refused, no...), append(kept, yes...)
	}
	var granted policy.Usage
	if old != nil {
		granted = policy.UsageOf(*old)
	}
	for _, p := range set.Quotas(r) {
		no, yes := policy.Split(p.CheckQuota(r, c.Group, a.spec, policy.UsageOf(a.spec), granted, c.UsedByOthers(p)))
		refused, kept = append(refused, no...), append(kept, yes...)
	}
	a.refused, a.warnings = messages(refused), messages(kept)
	return a
}

func messages(violations []policy.Violation) []string {
	out := make([]string, 0, len(violations))
	for _, v := range violations {
		out = append(out, v.Error())
	}
	return out
}

// valueOf returns a field of a spec by its path, as JSON has it.
func valueOf(t *testing.T, spec v1alpha1.VmGroupSpec, field string) any {
	t.Helper()
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	value := any(fields)
	for name := range strings.SplitSeq(strings.TrimPrefix(field, "spec."), ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func TestTable(t *testing.T) {
	cases, err := policytest.Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < 160 {
		t.Fatalf("%d cases, which are fewer than there were", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			got := evaluate(c)
			if !slices.Equal(got.refused, c.Refused) {
				t.Errorf("refused:\n%s\nwant:\n%s", strings.Join(got.refused, "\n"), strings.Join(c.Refused, "\n"))
			}
			if !slices.Equal(got.warnings, c.Warnings) {
				t.Errorf("warnings:\n%s\nwant:\n%s", strings.Join(got.warnings, "\n"), strings.Join(c.Warnings, "\n"))
			}
			if len(got.filled) != len(c.Filled) {
				t.Errorf("filled %v, want %v", got.filled, c.Filled)
			}
			for field, want := range c.Filled {
				if !slices.Contains(got.filled, field) || !reflect.DeepEqual(valueOf(t, got.spec, field), want) {
					t.Errorf("%s is %v (filled: %v), want %v", field, valueOf(t, got.spec, field), got.filled, want)
				}
			}
		})
	}
}

// The verdicts without the hub follow from the data of an admission policy: neither the inventory, nor other groups.
func TestTableWithoutHub(t *testing.T) {
	cases, err := policytest.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		blind := c
		blind.TemplatePath, blind.TemplateMissing = "", false
		for name := range blind.Policies {
			spec := blind.Policies[name]
			if spec.Quota != nil && spec.Quota.Storage != nil {
				spec.Quota = &v1alpha1.PolicyQuota{Storage: new(v1alpha1.Amount("9223372036854775807"))} // groups must still set their size
			} else {
				spec.Quota = nil
			}
			blind.Policies[name] = spec
		}
		got := evaluate(blind)
		if c.Scale != nil {
			// A Scale has no field except the replicas.
			got.refused = slices.DeleteFunc(got.refused, func(s string) bool {
				return !strings.HasPrefix(s, "spec.replicas:") && !strings.HasPrefix(s, "spec:")
			})
		}
		want, message := policytest.Allowed, ""
		if len(got.refused) > 0 {
			want, message = policytest.Refused, got.refused[0]
		}
		if v, m := c.WithoutHub(true); v != want || m != message {
			t.Errorf("%s: without the hub the table says %s %q, want %s %q", c.Name, v, m, want, message)
		}
	}
}
