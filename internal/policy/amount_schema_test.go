package policy

import (
	"os"
	"strings"
	"testing"
)

// TestTheSchemaAcceptsTheAmountsThatCanBeRead: the pattern of amounts stands in a marker, which can refer to no constant.
func TestTheSchemaAcceptsTheAmountsThatCanBeRead(t *testing.T) {
	source, err := os.ReadFile("../../api/v1alpha1/amount.go")
	if err != nil {
		t.Fatal(err)
	}
	if rule := "string(self).matches('" + readable.String() + "')"; !strings.Contains(string(source), rule) {
		t.Errorf("the rule of Amount does not contain %s", rule)
	}
}
