package policylayers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admission/objects"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
)

// stored stores policies on the hub and lets the operator read them. Sometimes it also stores a policy that the
// schema rejects, as an older schema could have.
func (t *trial) stored(ctx context.Context, policies map[string]v1alpha1.VmGroupPolicySpec) (*policy.Set, error) {
	var items []any
	for _, name := range slices.Sorted(maps.Keys(policies)) {
		object, err := plain(v1alpha1.VmGroupPolicy{Spec: policies[name]})
		if err != nil {
			return nil, err
		}
		object["apiVersion"], object["kind"], object["metadata"] = v1alpha1.GroupVersion.String(), "VmGroupPolicy", map[string]any{"name": name}
		t.server.Policies.Decode(object)
		if t.server.Policies.Validate(ctx, object, nil) != nil {
			if !t.dice.OneIn(3) {
				continue
			}
			t.tally[keptThoughRefused]++
		}
		items = append(items, object)
	}
	text, err := json.Marshal(map[string]any{"items": items})
	if err != nil {
		return nil, fmt.Errorf("encode policies: %w", err)
	}
	list := v1alpha1.VmGroupPolicyList{}
	if err := json.Unmarshal(text, &list); err != nil {
		t.fail("one policy makes the list of all unreadable: %v", err)
		return policy.Compile(nil), nil
	}
	set := policy.Compile(list.Items)
	for i := range list.Items {
		t.amounts(&list.Items[i], set)
	}
	t.about = append(t.about, list.Items)
	return set, nil
}

// amounts compares the bounds of memory with their text.
func (t *trial) amounts(p *v1alpha1.VmGroupPolicy, set *policy.Set) {
	compiled := set.Policies()[slices.IndexFunc(set.Policies(), func(c *policy.Policy) bool { return c.Name() == p.Name })]
	if p.Spec.Limits == nil || p.Spec.Limits.Memory == nil || compiled.Problem() != "" {
		return
	}
	for _, end := range []struct {
		name   string
		amount *v1alpha1.Amount
		got    *int64
		up     bool
	}{{"min", p.Spec.Limits.Memory.Min, compiled.Bounds().Memory.Min, true}, {"max", p.Spec.Limits.Memory.Max, compiled.Bounds().Memory.Max, false}} {
		switch want := wholeGiB(end.amount, end.up); {
		case end.amount == nil && end.got == nil:
		case want == nil:
			t.fail("policy %s has no problem, and its %s of memory is %q", p.Name, end.name, *end.amount)
		case end.got == nil || *end.got != *want:
			t.fail("policy %s: the %s of memory %q is taken for %v GiB, and is %d", p.Name, end.name, *end.amount, end.got, *want)
		}
	}
}

var (
	form     = regexp.MustCompile(`^([0-9]*[.]?[0-9]*)([A-Za-z]*)([+-]?[0-9]{1,2})?$`)
	suffixes = map[string]*big.Rat{
		"n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3), "": big.NewRat(1, 1), "k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1),
		"G": big.NewRat(1e9, 1), "T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1), "E": big.NewRat(1e18, 1), "Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1),
		"Gi": big.NewRat(1<<30, 1), "Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1), "Ei": big.NewRat(1<<60, 1),
	}
)

// wholeGiB computes an amount in GiB with fractions of any size, rounded up or down; nil for an unusable one.
func wholeGiB(a *v1alpha1.Amount, up bool) *int64 {
	if a == nil {
		return nil
	}
	parts := form.FindStringSubmatch(string(*a))
	if parts == nil {
		return nil
	}
	bytes, ok := new(big.Rat).SetString(parts[1])
	if !ok {
		return nil
	}
	switch unit, known := suffixes[parts[2]]; {
	case parts[3] != "" && (parts[2] == "e" || parts[2] == "E"):
		power, _ := new(big.Rat).SetString("1e" + parts[3])
		bytes.Mul(bytes, power)
	case parts[3] != "" || !known:
		return nil
	default:
		bytes.Mul(bytes, unit)
	}
	if most := new(big.Rat).SetInt64(math.MaxInt64); bytes.Cmp(most) > 0 {
		if !strings.HasSuffix(parts[2], "i") {
			return nil
		}
		bytes = most // Kubernetes reads larger values in units of 1024 as the maximum
	}
	bytes.Quo(bytes, big.NewRat(1<<30, 1))
	gib, rest := new(big.Int).QuoRem(bytes.Num(), bytes.Denom(), new(big.Int))
	if up && rest.Sign() != 0 {
		gib.Add(gib, big.NewInt(1))
	}
	return new(gib.Int64())
}

// told is the member's copy of the policies, as its API server stores it.
func (t *trial) told(ctx context.Context, set *policy.Set) (*unstructured.Unstructured, error) {
	limits, err := objects.Compile(set, "m1")
	if err != nil {
		return nil, err
	}
	object, err := plain(v1alpha1.VmGroupLimits{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.LimitsName}, Spec: limits})
	if err != nil {
		return nil, err
	}
	sent := &unstructured.Unstructured{Object: object}
	sent.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("VmGroupLimits"))
	body, err := sent.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the limits: %w", err)
	}
	// An API server reads applied objects as YAML.
	kept := map[string]any{}
	text, err := yaml.YAMLToJSON(body)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		t.fail("the member cannot read its limits: %v", err)
		return sent, nil
	}
	asSent := map[string]any{}
	if err := json.Unmarshal(bytes.Clone(body), &asSent); err != nil {
		return nil, fmt.Errorf("decode the limits: %w", err)
	}
	if !reflect.DeepEqual(kept, asSent) {
		t.fail("the member stores other limits than it was sent:\n%s\n%s", text, body)
	}
	t.server.Limits.Decode(sent.Object)
	if err := t.server.Limits.Validate(ctx, sent.Object, nil); err != nil {
		t.fail("the member refuses its limits: %v", err)
	}
	return sent, nil
}

// plain is a value in an API server that does not know its type.
func plain(value any) (map[string]any, error) {
	object := &unstructured.Unstructured{}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode a %T: %w", value, err)
	}
	if err := object.UnmarshalJSON(bytes.Replace(text, []byte("{"), []byte(`{"kind":"any",`), 1)); err != nil {
		return nil, fmt.Errorf("decode a %T: %w", value, err)
	}
	delete(object.Object, "kind")
	return object.Object, nil
}
