package summary

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/fleet/tally"
	"github.com/codeconnect/vmgroup-operator/internal/sharding/shardingtest"
	"github.com/codeconnect/vmgroup-operator/test/harness/allkinds"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// rig is a writer over a hub with two members and one VCenter.
type rig struct {
	*Writer
	t      *testing.T
	book   *tally.Book
	listed []string
	leads  shardingtest.Leader
	writes int
}

func (r *rig) Tallies() *tally.Book { return r.book }

func (r *rig) Listed(members ...string) bool {
	return !slices.ContainsFunc(members, func(m string) bool { return !slices.Contains(r.listed, m) })
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, book: tally.NewBook(), listed: []string{"m-1", "m-2"}, leads: true}
	objects := []client.Object{
		&v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "m-1"}}, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "m-2"}},
		&v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "vc"}},
	}
	c := clientfake.NewClientBuilder().WithScheme(allkinds.Scheme()).WithObjects(objects...).WithStatusSubresource(objects...).
		WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				r.writes++
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	r.Writer = &Writer{Client: c, Fleet: r, Leader: &r.leads, Clock: clock.RealClock{}}
	return r
}

// group counts a group of one VM, which is ready if since is zero.
func (r *rig) group(member, name string, since time.Time) {
	shape := tally.Shape{Desired: 1, Since: since}
	if since.IsZero() {
		shape.VMs[tally.VMReady] = 1
	} else {
		shape.Reason = v1alpha1.ReasonTemplateNotFound
	}
	r.book.Add(len(name), tally.Group{Cell: tally.Cell{Member: member, VCenter: "vc"}, Key: member + name, Namespace: "shop", Name: name, Shape: &shape})
}

func (r *rig) pass(late bool) {
	r.t.Helper()
	if err := r.write(r.t.Context(), late); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) member(name string) v1alpha1.MemberClusterStatus {
	r.t.Helper()
	var mc v1alpha1.MemberCluster
	if err := r.Client.Get(r.t.Context(), types.NamespacedName{Name: name}, &mc); err != nil {
		r.t.Fatal(err)
	}
	return mc.Status
}

func (r *rig) vcenter() v1alpha1.VCenterStatus {
	r.t.Helper()
	var vc v1alpha1.VCenter
	if err := r.Client.Get(r.t.Context(), types.NamespacedName{Name: "vc"}, &vc); err != nil {
		r.t.Fatal(err)
	}
	return vc.Status
}

func TestStatusNamesTheGroupsThatHaveNotBeenReadyForTheLongest(t *testing.T) {
	r := newRig(t)
	r.group("m-1", "web", time.Time{})
	for i := range 12 {
		r.group("m-1", fmt.Sprintf("bad-%02d", i), noon.Add(time.Duration(i)*time.Minute+time.Millisecond))
	}
	r.group("m-2", "older", noon.Add(-time.Hour))
	r.pass(false)
	s := r.member("m-1")
	if s.ReadyVMs != 1 || s.DesiredVMs != 13 || s.NotReady == nil || s.NotReady.Groups != 12 || len(s.NotReady.Worst) != 10 || !s.NotReady.Oldest.Time.Equal(noon) {
		t.Fatalf("m-1: %+v", s)
	}
	if w := s.NotReady.Worst[0]; w.Member != "" || w.VCenter != "vc" || w.Namespace != "shop" || w.Name != "bad-00" || w.Reason != v1alpha1.ReasonTemplateNotFound {
		t.Errorf("the worst of m-1 is %+v", w)
	}
	checkVCenterOfAll(t, r.vcenter())
}

func checkVCenterOfAll(t *testing.T, v v1alpha1.VCenterStatus) {
	t.Helper()
	if v.ReadyVMs != 1 || v.DesiredVMs != 14 || v.NotReady == nil || v.NotReady.Groups != 13 || len(v.NotReady.Worst) != 10 {
		t.Fatalf("vc: %+v", v)
	}
	if w := v.NotReady.Worst[0]; w.Member != "m-2" || w.VCenter != "" || w.Name != "older" {
		t.Errorf("the worst of vc is %+v", w)
	}
}

func TestStatusIsWrittenOfWhatChangedOnly(t *testing.T) {
	r := newRig(t)
	r.group("m-1", "web", time.Time{})
	r.group("m-2", "older", noon.Add(-time.Hour))
	r.pass(false)
	before := r.writes
	if r.pass(false); r.writes != before {
		t.Errorf("%d writes although nothing changed", r.writes-before)
	}
	r.group("m-2", "another", time.Time{})
	if r.pass(false); r.writes != before+2 {
		t.Errorf("%d writes after a change of m-2, want that of m-2 and that of vc", r.writes-before)
	}
}

// TestAMemberThatIsNotKnownYetKeepsWhatWasSeen: a leader that has just started must not write that no VM is ready.
func TestAMemberThatIsNotKnownYetKeepsWhatWasSeen(t *testing.T) {
	r := newRig(t)
	r.group("m-1", "web", time.Time{})
	r.group("m-2", "web", time.Time{})
	r.pass(false)
	restarted := newRig(t)
	restarted.Client, restarted.listed = r.Client, []string{"m-1"}
	restarted.group("m-1", "web", time.Time{})
	restarted.pass(false)
	if s, v := restarted.member("m-2"), restarted.vcenter(); s.ReadyVMs != 1 || v.ReadyVMs != 2 {
		t.Errorf("m-2 has %d ready VMs, vc %d; want 1 and 2", s.ReadyVMs, v.ReadyVMs)
	}
	restarted.pass(true)
	if s, v := restarted.member("m-2"), restarted.vcenter(); s.ReadyVMs != 1 || v.ReadyVMs != 1 {
		t.Errorf("after a minute m-2 has %d ready VMs, vc %d; want 1 and 1", s.ReadyVMs, v.ReadyVMs)
	}
}

func TestOnlyTheLeaderWritesAndOnceInTenSecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.leads = false
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- r.Start(ctx) }()
		change := func() {
			for i := range 60 {
				r.group("m-1", fmt.Sprint(r.writes, "-", i), time.Time{})
				<-time.After(time.Second)
				synctest.Wait()
			}
		}
		if change(); r.writes != 0 {
			t.Errorf("%d writes by a replica that does not lead", r.writes)
		}
		r.leads = true
		if change(); r.writes != 12 { // 6 of m-1, 6 of vc
			t.Errorf("%d writes in a minute, want 12", r.writes)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
