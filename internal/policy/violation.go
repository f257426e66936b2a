package policy

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Rule names the broken rule. The values are stable: metrics and tests can count by them.
type Rule string

// Rules, in the order in which they are reported for one policy.
const (
	// RuleUnusable is broken by every growth of a group that an unusable policy can apply to; see [Policy.Problem].
	RuleUnusable        Rule = "PolicyUnusable"
	RuleCPUMaximum      Rule = "CPUMaximum"
	RuleCPUMinimum      Rule = "CPUMinimum"
	RuleMemoryMaximum   Rule = "MemoryMaximum"
	RuleMemoryMinimum   Rule = "MemoryMinimum"
	RuleDiskMaximum     Rule = "DiskMaximum"
	RuleDiskMinimum     Rule = "DiskMinimum"
	RuleDiskRequired    Rule = "DiskRequired"
	RuleDataDiskMaximum Rule = "DataDiskMaximum"
	RuleReplicasMaximum Rule = "ReplicasMaximum"
	RuleReplicasMinimum Rule = "ReplicasMinimum"
	RuleTemplateDenied  Rule = "TemplateDenied"
	RuleTemplateAllowed Rule = "TemplateAllowed"
	RuleTemplateExists  Rule = "TemplateExists"
	RuleQuotaGroups     Rule = "QuotaGroups"
	RuleQuotaVMs        Rule = "QuotaVMs"
	RuleQuotaCPU        Rule = "QuotaCPU"
	RuleQuotaMemory     Rule = "QuotaMemory"
	RuleQuotaStorage    Rule = "QuotaStorage"
	RuleQuotaRetain     Rule = "QuotaRetain"
)

// Violation is one field that breaks one rule of one policy.
type Violation struct {
	// Field of the VmGroup, for example spec.cpu.
	Field string
	// Value of that field: an int32 or a string; nil if no single value is the cause.
	Value any
	// Detail describes the error of the value, and names the policy.
	Detail string
	// Policy is the name of the VmGroupPolicy; empty for [DefaultLimits].
	Policy string
	// Rule that is broken.
	Rule Rule
	// Enforced is false if the policy only warns.
	Enforced bool
}

// Error returns the message for users. It does not depend on where the violation is found.
func (v Violation) Error() string { return v.FieldError().Error() }

// FieldError returns the violation as a cause of a Status.
func (v Violation) FieldError() *field.Error {
	if v.Value == nil {
		return &field.Error{Type: field.ErrorTypeForbidden, Field: v.Field, BadValue: "", Detail: v.Detail}
	}
	value := v.Value
	if text, ok := value.(string); ok {
		value = quoted(text)
	}
	return &field.Error{Type: field.ErrorTypeInvalid, Field: v.Field, BadValue: value, Detail: v.Detail}
}

// quoted is text formatted like strings.quote of the Common Expression Language, so that members' policies and the hub use the same messages.
type quoted string

// quotation has the escapes of strings.quote.
var quotation = strings.NewReplacer("\a", `\a`, "\b", `\b`, "\f", `\f`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\v", `\v`, `\`, `\\`, `"`, `\"`)

// String implements fmt.Stringer.
func (q quoted) String() string {
	return `"` + quotation.Replace(strings.ToValidUTF8(string(q), "\ufffd")) + `"`
}

var errNoJSON = errors.New("a quoted value is shown as it is")

// MarshalJSON implements json.Marshaler, and always fails: a [field.Error] shows a value as JSON if it can, and JSON escapes other characters.
func (quoted) MarshalJSON() ([]byte, error) { return nil, errNoJSON }

// tooFew reports whether an enforced minimum of replicas is missed.
func (v Violation) tooFew() bool { return v.Enforced && v.Rule == RuleReplicasMinimum }

// Split separates violations of enforced policies from those of policies that only warn. Both keep their order.
func Split(violations []Violation) (enforced, warned []Violation) {
	for _, v := range violations {
		if v.Enforced {
			enforced = append(enforced, v)
		} else {
			warned = append(warned, v)
		}
	}
	return enforced, warned
}
