package fleet

import (
	"slices"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestGroupsAreDeliveredWhenSettingsOfTheirEngagedMemberChange(t *testing.T) {
	of := func(state State, version string, paused bool) Member {
		return Member{Name: "m", UID: "u", State: state, Settings: Settings{Paused: paused, CRDVersion: version}}
	}
	for story, c := range map[string]struct {
		before, after Member
		want          bool
	}{
		"nothing changed":                      {of(Engaged, "4", false), of(Engaged, "4", false), false},
		"the leader upgraded the CRD":          {of(Engaged, "4", false), of(Engaged, "5", false), true},
		"a user deleted the CRD":               {of(Engaged, "5", false), of(Engaged, "", false), true},
		"the leader has just found the CRD":    {of(Engaged, "", false), of(Engaged, "5", false), false},
		"and the member is paused, too":        {of(Engaged, "", false), of(Engaged, "5", true), true},
		"controllers begin to watch meanwhile": {of(Engaging, "4", false), of(Engaged, "4", true), true},
		"the member is unreachable":            {of(Engaged, "4", false), of(Away, "4", true), false},
		"the member comes back":                {of(Away, "4", false), of(Engaged, "4", true), false},
	} {
		t.Run(story, func(t *testing.T) {
			f := newFleet()
			f.see(Ref{"m", "team", "web"}, "a", "vc", 1)
			f.see(Ref{"other", "team", "web"}, "b", "vc", 1)
			f.SetMember(c.before)
			var told []string
			f.SubscribeGroups(sinkFunc[Ref](func(of Ref, _ Reason) { told = append(told, of.Member) }))
			if f.SetMember(c.after); slices.Equal(told, []string{"m"}) != c.want || len(told) > 1 {
				t.Errorf("groups of %v are delivered", told)
			}
		})
	}
}

func TestAMemberIsServedWhileItIsEngagedAndAnswers(t *testing.T) {
	f := newFleet()
	expect := func(when string, m Member, known, serves bool) {
		t.Helper()
		m.Name = "m"
		f.SetMember(m)
		got, is := f.Member("m")
		if is != known || f.Serves("u") != serves || is && (got.UID != m.UID || got.State != m.State || got.Silent != m.Silent) {
			t.Errorf("%s: %+v, known %v, served %v", when, got, is, f.Serves("u"))
		}
	}
	expect("connecting", Member{}, false, false)
	expect("controllers begin to watch", Member{UID: "u", State: Engaging}, true, false)
	expect("engaged", Member{UID: "u", State: Engaged, Settings: Settings{UserDataSecrets: v1alpha1.UserDataAllow}}, true, true)
	expect("silent", Member{UID: "u", State: Engaged, Silent: true}, true, false)
	expect("answering again", Member{UID: "u", State: Engaged}, true, true)
	expect("another cluster", Member{UID: "v", State: Engaged}, true, false)
	expect("the first one again", Member{UID: "u", State: Engaged}, true, true)
	f.SetMember(Member{Name: "renamed", UID: "u", State: Engaged})
	if expect("away, while another name leads to the cluster", Member{}, false, true); !f.Serves("u") {
		t.Error("the cluster is served under its other name")
	}
	if f.DeleteMember("renamed"); f.Serves("u") || len(f.serving) > 0 {
		t.Errorf("%v are served after their MemberCluster was deleted", f.serving)
	}
}

func TestRestoresAreCountedByCluster(t *testing.T) {
	f := newFleet()
	engaged := func(name, uid string) uint64 {
		f.SetMember(Member{Name: name, UID: uid, State: Engaged, Restores: 99})
		m, _ := f.Member(name)
		return m.Restores
	}
	first, other := engaged("m", "u"), engaged("other", "v")
	f.Restored("u")
	again := engaged("m", "u")
	if again == first || engaged("other", "v") != other {
		t.Errorf("after a restore the number is %d, and was %d; that of another member was %d", again, first, other)
	}
	f.DeleteMember("m")
	if now := engaged("renamed", "u"); now != again {
		t.Errorf("with another MemberCluster the number is %d, and was %d", now, again)
	}
}
