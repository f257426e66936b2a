package objects

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPagesNameTheSecondsThatAMemberWaits: users plan with these figures.
func TestPagesNameTheSecondsThatAMemberWaits(t *testing.T) {
	for file, want := range map[string]string{
		"docs/how-to/uninstall.md":                  fmt.Sprintf("takes up to %d seconds longer (%d second for each call with `failurePolicy: Ignore`)", failTimeout, ignoreTimeout),
		"charts/vmgroup-operator/files/alerts.yaml": fmt.Sprintf("wait %d second (failure policy Ignore) or %d seconds (Fail)", ignoreTimeout, failTimeout),
	} {
		content, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), want) {
			t.Errorf("%s does not contain %q", file, want)
		}
	}
}
