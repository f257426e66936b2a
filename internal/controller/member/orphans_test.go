package member

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/settings"
	"github.com/codeconnect/vmgroup-operator/internal/group/orphans"
)

func TestAMemberTellsOfItsOrphansUntilThereAreCertainlyNone(t *testing.T) {
	found := []orphans.Group{{Key: "cluster-a/0a1b2c3d-1", Member: "team-a", Namespace: "shop", Name: "web", VMs: []string{"web-0 (vm-1)", "web-1 (vm-2)"}}}
	f, known := newFleet(), false
	f.SetVCenter("vc")
	opts := &settings.Options{Fleet: f}
	engaged := link.Observation{State: link.Engaged, EngagedAt: testNow.Add(-time.Hour)}
	status := v1alpha1.MemberClusterStatus{}
	told := func(seen link.Observation) (message string, again time.Duration) {
		until := time.Time{}
		if known {
			until = time.Now().Add(time.Hour)
		}
		f.SetOrphans("vc", found, until)
		in := statusInput{name: "team-a", now: testNow, previous: status, seen: seen}
		in.orphaned, again = orphansOf(opts.Fleet, &status, "team-a", seen, testNow)
		status, _ = computeStatus(in)
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOrphanedVMs); c != nil {
			message = c.Message
		}
		return message, again
	}
	message, _ := told(engaged)
	for _, word := range []string{"2 VMs of 1 VmGroups", "web-0 (vm-1)", "VmGroup web in namespace shop", "adopt=0a1b2c3d-1", "kubectl annotate membercluster team-a "} {
		if !strings.Contains(message, word) {
			t.Errorf("%q does not say %q", message, word)
		}
	}
	found = nil
	away := link.Observation{State: link.Silent, EngagedAt: testNow.Add(-time.Hour), Problem: &remote.Problem{}}
	young := link.Observation{State: link.Engaged, EngagedAt: testNow.Add(-time.Minute)}
	for name, doubt := range map[string]struct {
		seen  link.Observation
		known bool
	}{"the orphans are unknown": {engaged, false}, "the member is unreachable": {away, true}, "the member has been engaged for a minute": {young, true}, "the member is not engaged": {link.Observation{}, true}} {
		known = doubt.known
		if message, again := told(doubt.seen); message == "" || again == 0 {
			t.Errorf("although %s, the message reports no orphans; again after %s", name, again)
		}
	}
	known = true
	if message, again := told(engaged); message != "" || again != 0 {
		t.Errorf("without any it says %q, again after %s", message, again)
	}
}
