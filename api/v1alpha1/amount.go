package v1alpha1

import (
	"encoding/json"
	"fmt"
)

// Amount is an amount of memory in bytes, such as 8Gi, 512Mi or 1e9. A plain number counts bytes.
//
// Amount is kept as text, so that decoding never fails for a value that the API server stored. A list of VmGroupPolicies stays readable,
// even if one of them has an invalid amount. Package policy parses amounts and reports errors.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:XValidation:rule="string(self).matches('^([0-9]{1,19}([.][0-9]{0,9})?|[.][0-9]{1,9})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$') && quantity(string(self)).compareTo(quantity('9223372036854775807')) <= 0",message="must be an amount of memory such as 8Gi or 512Mi, not negative, with at most 19 digits, and at most 9223372036854775807 bytes"
type Amount string

// UnmarshalJSON accepts a string, and a number as its text.
func (a *Amount) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		*a = Amount(data)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("decode an amount of memory: %w", err)
	}
	*a = Amount(text)
	return nil
}
