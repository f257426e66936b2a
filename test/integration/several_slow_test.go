//go:build unix && slow

package integration

import (
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestOutageOfVCenterMemberAndHubAtOnceEndsWithExactlyWhatWasAskedFor(t *testing.T) {
	w := troubled.enter(t)
	sameManager(t, w)
	throughProxies(t, w)
	v := newVCenter(t, w, "several")
	a, b := newPlace(t, w, "team-a", "several"), newPlace(t, w, "team-b", "several")
	for _, p := range []*place{a, b} {
		p.apply(p.group("grows", 1, v.of))
		p.apply(p.group("goes", 1, v.of))
		p.untilRunning("grows", 1)
		p.untilRunning("goes", 1)
	}

	vcenterUp, memberBack := v.down(), cutOff(t, b.cluster)
	v.proxy.Reset()
	for _, p := range []*place{a, b} {
		p.patch("grows", `{"spec":{"replicas":3}}`)
		p.delete("goes")
	}
	untilMember(t, w, b.member, "False", v1alpha1.ReasonMemberUnreachable)
	a.untilSays("grows", v1alpha1.ConditionVCenterReachable, "False", v1alpha1.ReasonVCenterUnreachable, v.name)
	othersAreServed(t, w, "team-a", "several-others")
	v.unchanged("while vCenter and a member are unreachable")

	// The hub fails as well. vCenter comes back first, which has no effect alone; then the hub, and the groups of the
	// reachable member are served.
	hubUp := stopHub(t, w)
	untilIdle(t, w)
	vcenterUp()
	staysUnchanged(t, v, "while the hub is unreachable")
	hubUp()
	a.untilRunning("grows", 3)
	a.untilGone("goes")
	away := string(b.get("grows").UID)
	for _, r := range v.proxy.Changes("CloneVM_Task", "Destroy_Task") {
		if r.Group == away {
			t.Errorf("%s of %s for a group of the unreachable member", r.Method, r.Name)
		}
	}
	memberBack()
	b.untilRunning("grows", 3)
	b.untilGone("goes")
	for name := range w.Members {
		untilMember(t, w, name, "True", "")
	}
	v.untilSays(v1alpha1.ConditionReady, "True", "")
	untilVCenterHolds(t, w, "/DC0/vm/several", 6)
	if n := v.done("CloneVM_Task"); n != 4 {
		t.Errorf("%d clones, want 2 of each member", n)
	}
	v.oneSession()
}
