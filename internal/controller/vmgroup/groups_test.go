package vmgroup

import (
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
		"while its member was unreachable": func(r *rig, _ *v1alpha1.VmGroup) { r.Fleet.KeepOnly(v1alpha1.LocalMember, nil) },
		"and its member with it too":       func(r *rig, _ *v1alpha1.VmGroup) { r.Fleet.DeleteMember(v1alpha1.LocalMember) },
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

// The event of a group's removal is handled later than the removal. A pass can store state of the group again
// meanwhile.
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
	r.fill()
	r.queue.Add(r.request)
	if r.delivered(); r.queue.Len() != 1 {
		t.Error("the group that has the name now is not in the queue")
	}
}

// Another replica can have acted on a group whose bucket was lost. The bucket can return before the event of its loss
// is handled.
func TestNothingIsRememberedOfAGroupOfALostBucket(t *testing.T) {
	of := func(r *rig) (remembered, bool) {
		m, known := r.memory.groups[r.object()]
		return m, known
	}
	lost := func(t *testing.T) *rig {
		r := newRig(t)
		g := r.settle()
		r.Fleet.SetGroup(refOf(r.request), keyOf("member-uid", g), g, "default")
		r.memory.change(r.object(), func(m *remembered) { m.resourceVersion = g.ResourceVersion + "0" })
		r.Fleet.Lost([]int{0})
		return r
	}
	t.Run("the news come first", func(t *testing.T) {
		r := lost(t)
		if r.delivered(); len(r.memory.groups) > 0 {
			t.Errorf("remembered are %+v", r.memory.groups)
		}
	})
	t.Run("a pass comes first", func(t *testing.T) {
		r := lost(t)
		r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
		if _, err := r.Reconcile(t.Context(), r.request); err != nil {
			t.Fatal(err)
		}
		written, _ := of(r)
		if written.resourceVersion != r.group().ResourceVersion || written.tenure != 1 {
			t.Fatalf("the pass waits for a version that was written under another tenure: %+v", written)
		}
		if r.delivered(); len(r.memory.groups) != 1 {
			t.Error("late news forget what was written since the bucket came back: an older cache would be believed")
		}
	})
	t.Run("another bucket is lost", func(t *testing.T) {
		r := newRig(t)
		r.settle()
		before, _ := of(r)
		r.Fleet.Lost([]int{1})
		r.mustPass()
		if after, known := of(r); !known || after.tenure != 0 || after.resourceVersion != before.resourceVersion {
			t.Errorf("remembered is %+v, and was %+v", after, before)
		}
	})
}
