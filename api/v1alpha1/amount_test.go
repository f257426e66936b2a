package v1alpha1

import (
	"encoding/json"
	"testing"
)

// TestPoliciesAreReadableWhateverTheirAmountsAre: one object that cannot be decoded would make the list of all policies unreadable.
func TestPoliciesAreReadableWhateverTheirAmountsAre(t *testing.T) {
	for text, want := range map[string]Amount{
		`"8Gi"`: "8Gi", `8589934592`: "8589934592", `1e9`: "1e9", `"1e1.5"`: "1e1.5", `"1e99999999999999999999"`: "1e99999999999999999999",
		`"1234567890123456789e2000000000"`: "1234567890123456789e2000000000", `""`: "", `"\u0085"`: "\u0085",
	} {
		var list VmGroupPolicyList
		object := `{"items":[{"spec":{"limits":{"memory":{"max":` + text + `}}}},{"spec":{"limits":{"memory":{"max":"1Gi"}}}}]}`
		if err := json.Unmarshal([]byte(object), &list); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := *list.Items[0].Spec.Limits.Memory.Max; got != want {
			t.Errorf("%s is read as %q, want %q", text, got, want)
		}
		if got, err := json.Marshal(list.Items[1].Spec.Limits.Memory); err != nil || string(got) != `{"max":"1Gi"}` {
			t.Errorf("written is %s, %v", got, err)
		}
	}
}
