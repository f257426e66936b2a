package vmgroup

import (
	"fmt"
	"testing"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
)

func TestNothingIsRememberedOfAGroupThatWasDeletedUnseen(t *testing.T) {
	for name, missed := range map[string]func(*rig, *v1alpha1.VmGroup){
		"and created anew": func(r *rig, was *v1alpha1.VmGroup) {
			anew := was.DeepCopy()
			anew.UID = "another"
			r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", anew), anew, "default")
		},
		"while its member was away":  func(r *rig, _ *v1alpha1.VmGroup) { r.Fleet.KeepOnly(v1alpha1.LocalMember, nil) },
		"and its member with it too": func(r *rig, _ *v1alpha1.VmGroup) { r.Fleet.DeleteMember(v1alpha1.LocalMember) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			g := r.settle()
			r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", g), g, "default")
			if r.memory.of(objectOf("member-uid", g)).resourceVersion == "" {
				t.Fatal("nothing is remembered of a group that was just written")
			}
			missed(r, g)
			r.delivered()
			if _, known := r.memory.groups[objectOf("member-uid", g)]; known {
				t.Error("it is remembered for ever")
			}
		})
	}
}

func TestAGroupIsRememberedWhenItsMemberWasRenamed(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	old := r.request
	old.ClusterName = "old"
	r.Fleet.SetGroup(refOf(old), keyOf("member-uid", g), g, "default")
	r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", g), g, "default")
	r.Fleet.DeleteMember("old")
	r.delivered()
	if r.memory.of(objectOf("member-uid", g)).resourceVersion == "" {
		t.Error("the operator's own last write is forgotten: an older cache would be believed")
	}
}

// The news that a group is gone are taken later than what they are about. A pass can remember the group again meanwhile.
func TestLateNewsOfAGroupThatIsKnownAgainForgetNothing(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", g), g, "default")
	r.Fleet.KeepOnly(v1alpha1.LocalMember, nil)
	r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", g), g, "default")
	r.delivered()
	if r.memory.of(objectOf("member-uid", g)).resourceVersion == "" {
		t.Error("the operator's own last write is forgotten: an older cache would be believed")
	}
}

func TestLateNewsOfAGroupTakeNoOtherOfItsNameOutOfTheLine(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", g), g, "default")
	anew := g.DeepCopy()
	anew.UID = "another"
	r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", anew), anew, "default")
	for i := range 3 {
		r.limiter.enter(requestFor(v1alpha1.LocalMember, fmt.Sprint(i)), "default")
	}
	if _, ok := r.limiter.enter(r.request, "default"); ok || !r.limiter.waits(r.request) {
		t.Fatal("there is a place left")
	}
	if r.delivered(); !r.limiter.waits(r.request) {
		t.Error("nobody comes back to the group that has the name now")
	}
}
