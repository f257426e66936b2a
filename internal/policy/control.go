package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

// control reports whether a character is not allowed in a name or pattern. The schema of VmGroupPolicy refuses the same characters: an API server
// that reads an applied object as YAML refuses it because of them, or treats them as line breaks.
func control(r rune) bool {
	switch r {
	case '\u2028', '\u2029', '\ufffe', '\uffff':
		return true
	}
	return unicode.IsControl(r)
}

func hasControl(text string) bool { return strings.ContainsFunc(text, control) }

// unprintable names the first field with such a character, or returns "".
func unprintable(spec *v1alpha1.VmGroupPolicySpec) string {
	type texts struct {
		field  string
		values []string
	}
	all := []texts{{"match.exclude", spec.Match.Exclude}}
	if t := spec.Templates; t != nil {
		all = append(all, texts{"templates.allow", t.Allow}, texts{"templates.deny", t.Deny})
	}
	if d := spec.Defaults; d != nil {
		all = append(all, texts{"defaults.template", []string{d.Template}}, texts{"defaults.vcenter", []string{d.VCenter}})
	}
	for _, t := range all {
		if i := slices.IndexFunc(t.values, hasControl); i >= 0 {
			return fmt.Sprintf("%s: %+q", t.field, t.values[i])
		}
	}
	return ""
}
