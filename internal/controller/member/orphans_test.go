package member

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/link"
	"github.com/codeconnect/vmgroup-operator/internal/controller/member/remote"
	"github.com/codeconnect/vmgroup-operator/internal/group/orphans"
)

func TestAMemberTellsOfItsOrphansUntilThereAreCertainlyNone(t *testing.T) {
	found := []orphans.Group{{Key: "cluster-a/0a1b2c3d-1", Member: "team-a", Namespace: "shop", Name: "web", VMs: []string{"web-0 (vm-1)", "web-1 (vm-2)"}}}
	f, known, undecided := newFleet(), false, sets.New[string]()
	f.SetVCenter("vc")
	status := v1alpha1.MemberClusterStatus{}
	told := func() (message string, again time.Duration) {
		until := time.Time{}
		if known {
			until = time.Now().Add(time.Hour)
		}
		f.SetOrphans("vc", found, undecided, until)
		in := statusInput{name: "team-a", now: testNow, previous: status, seen: link.Observation{State: link.Silent, Problem: &remote.Problem{}}}
		in.orphaned, again = orphansOf(f, &status, "team-a")
		status, _ = computeStatus(in)
		if c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionOrphanedVMs); c != nil {
			message = c.Message
		}
		return message, again
	}
	message, _ := told()
	for _, word := range []string{"2 VMs of 1 VmGroups", "web-0 (vm-1)", "VmGroup web in namespace shop", "adopt=0a1b2c3d-1", "kubectl annotate membercluster team-a "} {
		if !strings.Contains(message, word) {
			t.Errorf("%q does not say %q", message, word)
		}
	}
	found = nil
	for name, doubt := range map[string]struct{ known, undecided bool }{"the vCenter is not searched": {}, "the groups of some VMs are unknown": {true, true}} {
		known, undecided = doubt.known, sets.New("team-b")
		if doubt.undecided {
			undecided.Insert("team-a")
		}
		if message, again := told(); message == "" || again == 0 {
			t.Errorf("although %s, the message reports no orphans; again after %s", name, again)
		}
	}
	known, undecided = true, sets.New("team-b")
	if message, again := told(); message != "" || again != 0 {
		t.Errorf("without any it says %q, again after %s", message, again)
	}
}
