package policy

import (
	"os"
	"strings"
	"testing"
)

// TestTheSchemaAcceptsTheAmountsThatCanBeRead: the pattern of amounts is in a marker, which cannot refer to a constant.
func TestTheSchemaAcceptsTheAmountsThatCanBeRead(t *testing.T) {
	source, err := os.ReadFile("../../api/v1alpha1/amount.go")
	if err != nil {
		t.Fatal(err)
	}
	if rule := "string(self).matches('" + readable.String() + "')"; !strings.Contains(string(source), rule) {
		t.Errorf("the rule of Amount does not contain %s", rule)
	}
}
