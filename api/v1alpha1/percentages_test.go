package v1alpha1

import (
	"encoding/json"
	"testing"
)

// A list of groups is decoded as a whole: one group that cannot be read would take those of its whole member away.
func TestAGroupWithPercentagesDoesNotSpoilTheListOfItsMember(t *testing.T) {
	const written = `{"metadata":{},"items":[` +
		`{"metadata":{"name":"a"},"spec":{"cpu":1,"memory":1,"template":"t","updateStrategy":{"maxSurge":"25%","maxUnavailable":"10%"},"repair":{"maxUnhealthy":"40%"}}},` +
		`{"metadata":{"name":"b"},"spec":{"cpu":1,"memory":1,"template":"t","updateStrategy":{"maxSurge":1,"maxUnavailable":0},"repair":{"maxUnhealthy":2}}}]}`
	var list VmGroupList
	if err := json.Unmarshal([]byte(written), &list); err != nil {
		t.Fatalf("the groups of the member cannot be listed: %v", err)
	}
	// A replica that writes such a group back changes nothing of it.
	again, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != written {
		t.Errorf("it is written back as\n%s\nand was\n%s", again, written)
	}
}
