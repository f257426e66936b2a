package vmgroup

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// The versions of a restored member are lower than those of the operator's earlier writes.
func TestAGroupOfARestoredMemberIsActedOnAgain(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	r.inform(r.Reconciler)
	r.memory.change(objectOf("member-uid", g), func(m *remembered) { m.resourceVersion = g.ResourceVersion + "0" })
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	live := &liveReader{err: errors.New("the member is unreachable")}
	r.Clusters = testCluster{client: r.member, live: live}
	if r.work(); len(r.vcenter.VMs()) != 2 {
		t.Fatalf("%d VMs: a cache that is older than a write was acted on", len(r.vcenter.VMs()))
	}
	r.Fleet.Restored("another-uid")
	if r.work(); len(r.vcenter.VMs()) != 2 {
		t.Fatalf("%d VMs: another member was restored", len(r.vcenter.VMs()))
	}
	r.Fleet.Restored("member-uid")
	if r.work(); len(r.vcenter.VMs()) != 3 {
		t.Errorf("%d VMs, want 3", len(r.vcenter.VMs()))
	}
}

// A pass that wrote with the earlier clients ends after the restore. Its stored version is no version of the new storage.
func TestAWriteThatEndsAfterARestoreCountsAsOneFromBefore(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	restores := func() uint64 {
		m, _ := r.Fleet.Member(v1alpha1.LocalMember)
		return m.Restores
	}
	before := restores()
	if r.memory.stale(r.object(), "1", before, r.now).IsZero() {
		t.Fatal("a cache that is older than the last write is believed")
	}
	r.onStatus = func() error {
		r.Fleet.Restored("member-uid")
		return nil
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	r.mustPass()
	if restores() == before || r.memory.of(r.object()).resourceVersion == g.ResourceVersion {
		t.Fatal("nothing was written while the member was restored")
	}
	if !r.memory.stale(r.object(), "1", restores(), r.now).IsZero() {
		t.Error("what the restored member has looks older than a write to the storage of before")
	}
	r.onStatus = nil
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
	r.mustPass()
	if r.memory.stale(r.object(), "1", restores(), r.now).IsZero() {
		t.Error("a cache that is older than a write since the restore is believed")
	}
}

// liveReader is an API server's view of a group.
type liveReader struct {
	client.Reader
	asked int
	err   error
	has   *v1alpha1.VmGroup
}

func (l *liveReader) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	l.asked++
	if l.err == nil {
		l.has.DeepCopyInto(into.(*v1alpha1.VmGroup))
	}
	return l.err
}

// With a revision bump the revision of the storage rises, and only the objects show the restore: they have their versions from the
// backup.
func TestAGroupThatCameBackOlderThanOurOwnWriteIsActedOnOnceItsAPIServerBearsItOut(t *testing.T) {
	for _, test := range []struct {
		story string
		live  func(cached *v1alpha1.VmGroup) *liveReader
		acts  bool
	}{
		{"restored", func(cached *v1alpha1.VmGroup) *liveReader { return &liveReader{has: cached} }, true},
		{"the cache is late", func(cached *v1alpha1.VmGroup) *liveReader {
			written := cached.DeepCopy()
			written.ResourceVersion += "0"
			return &liveReader{has: written}
		}, false},
		{"restored, and the cache is late", func(cached *v1alpha1.VmGroup) *liveReader {
			older := cached.DeepCopy()
			older.ResourceVersion = "1"
			return &liveReader{has: older}
		}, false},
		{"another group has the name", func(cached *v1alpha1.VmGroup) *liveReader {
			other := cached.DeepCopy()
			other.UID = "other"
			return &liveReader{has: other}
		}, false},
		{"the member is unreachable", func(*v1alpha1.VmGroup) *liveReader { return &liveReader{err: errors.New("no route to host")} }, false},
	} {
		t.Run(test.story, func(t *testing.T) {
			r := newRig(t)
			g := r.settle()
			r.memory.change(objectOf("member-uid", g), func(m *remembered) { m.resourceVersion = g.ResourceVersion + "0" })
			r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
			live := test.live(r.group())
			r.Clusters = testCluster{client: r.member, live: live}
			for range 5 {
				if result := r.mustPass(); result.RequeueAfter == 0 {
					t.Error("the pass does not come back")
				}
				r.now = r.now.Add(catchesUp/5 - time.Millisecond)
			}
			if live.asked != 0 {
				t.Errorf("the API server is asked before %v", catchesUp)
			}
			r.now = r.now.Add(catchesUp)
			for range 5 {
				r.mustPass()
				r.vcenter.Finish(-1)
			}
			if live.asked != 1 {
				t.Errorf("the API server is asked %d times, want once in %v", live.asked, catchesUp)
			}
			if acts := len(r.vcenter.VMs()) == 3; acts != test.acts {
				t.Errorf("acted: %v, want %v", acts, test.acts)
			}
		})
	}
}

// The stored time is how long this write is missing, and not how long another one was.
func TestACacheThatCaughtUpHasAllItsTimeAgain(t *testing.T) {
	r := newRig(t)
	g := r.settle()
	live := &liveReader{has: g}
	r.Clusters = testCluster{client: r.member, live: live}
	for range 2 {
		r.memory.change(objectOf("member-uid", g), func(m *remembered) { m.resourceVersion = g.ResourceVersion + "0" })
		r.mustPass()
		r.now = r.now.Add(catchesUp - time.Millisecond)
		r.mustPass()
		r.memory.change(objectOf("member-uid", g), func(m *remembered) { m.resourceVersion = g.ResourceVersion })
		r.mustPass()
	}
	if live.asked != 0 {
		t.Errorf("the API server is asked %d times", live.asked)
	}
}

// The backup has a VM that was lost and replaced since, and does not have its replacement.
func TestAStatusFromABackupNeitherDoublesNorLosesVMs(t *testing.T) {
	r := newRig(t)
	backup := r.settle().Status
	r.vcenter.ByHand().Delete("web-1")
	replaced := r.work()
	if len(r.vcenter.VMs()) != 2 || replaced.Status.VMs[1].MoRef == backup.VMs[1].MoRef {
		t.Fatalf("the VM was not replaced: %+v", replaced.Status.VMs)
	}
	r.vcenter.ClearJournal()
	g := r.group()
	g.Status = backup
	if err := r.member.Status().Update(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	r.Fleet.Restored("member-uid")
	after := r.work()
	if clones, destroys := r.vcenter.Calls(vsphere.OpClone), r.vcenter.Calls(vsphere.OpDestroy); len(clones)+len(destroys) != 0 {
		t.Errorf("clones %v, destroys %v", clones, destroys)
	}
	for i, vm := range replaced.Status.VMs {
		if len(after.Status.VMs) != 2 || after.Status.VMs[i].MoRef != vm.MoRef {
			t.Fatalf("status has %+v, want %+v", after.Status.VMs, replaced.Status.VMs)
		}
	}
}
