package policy

import "testing"

// TestAValueIsQuotedAsAMembersPolicyQuotesIt: strings.quote of the Common Expression Language escapes control characters, quotes and backslashes, and shows other
// characters that cannot be printed as they are.
func TestAValueIsQuotedAsAMembersPolicyQuotesIt(t *testing.T) {
	for value, want := range map[string]string{
		"linux\u200b-12\u00a0":  "\"linux\u200b-12\u00a0\"",
		"x\u007f-12":            "\"x\u007f-12\"",
		"\"quoted\" \\ ü\tend":  `"\"quoted\" \\ ü\tend"`,
		"R&D\u2028<12>\a\v":     "\"R&D\u2028<12>\\a\\v\"",
		"broken \xff text\r\n.": "\"broken \ufffd text\\r\\n.\"",
	} {
		v := Violation{Field: "spec.template", Value: value, Detail: "is denied"}
		if got := v.Error(); got != "spec.template: Invalid value: "+want+": is denied" {
			t.Errorf("%q is shown as\n%s, want\n%s", value, got, want)
		}
	}
}
