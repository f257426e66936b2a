package vmgroup

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/policy"
	"github.com/codeconnect/vmgroup-operator/internal/quota"
	"github.com/codeconnect/vmgroup-operator/internal/quota/quotatest"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// Amounts of the quota of a namespace in which users do all that they can.
const (
	mostVMs, mostCPUs, mostGiB = 5, 10, 100
	// users have this many names for groups.
	names = 2
)

// greedy is a namespace whose users request more than its quota, and can do with VmGroups whatever a role allows: create, edit, scale,
// pause, delete, remove finalizers, and recreate under the same name.
type greedy struct {
	*rig
	c      *rapid.T
	store  *quotatest.Store
	ledger *quota.Ledger
	born   int
	// backup is the last one of the hub: the version of the ledger, and the admitted specs.
	backup  int
	records map[admitted.Key]admitted.Entry
}

func newGreedy(t *testing.T, c *rapid.T) *greedy {
	r := newRig(t)
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		c.Fatal(err)
	}
	r.vcenter.RemoveTemplate("debian-12")
	for _, name := range []string{"debian-12", "debian-13"} {
		r.vcenter.AddTemplate(vsphere.Template{Name: name, RootDiskBytes: 10 << 30})
	}
	vms, cpus, most, storage := int32(mostVMs), int64(mostCPUs), int32(100), v1alpha1.Amount(fmt.Sprint(mostGiB, "Gi"))
	r.setPolicy(v1alpha1.VmGroupPolicySpec{
		Limits: &v1alpha1.PolicyLimits{CPU: &v1alpha1.CountRange{Max: &most}, Replicas: &v1alpha1.CountRange{Max: &most}},
		Quota:  &v1alpha1.PolicyQuota{VMs: &vms, CPU: &cpus, Storage: &storage, Scope: v1alpha1.QuotaNamespace, Retain: v1alpha1.RetainAllow},
	})
	g := &greedy{rig: r, c: c, store: &quotatest.Store{}}
	g.ledger = r.ledgerOf(r.Reconciler, g.store)
	return g
}

func (g *greedy) backUp() { g.backup, g.records = g.store.Version(), g.rig.records.Backup() }

// restore sets the hub back to the last backup, or to its initial state, with a revision bump. A running clone is in no cache and no backup, so none
// runs.
func (g *greedy) restore() {
	g.vcenter.Finish(-1)
	g.inform(g.Reconciler)
	g.store.GoBack(g.backup, 10*g.store.Version()+10)
	g.rig.records.GoBack(g.records)
	g.store.Tell(g.ledger.Observe)
}

func (g *greedy) name(c *rapid.T) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: fmt.Sprintf("g%d", rapid.IntRange(0, names-1).Draw(c, "group"))}
}

// get returns a group, or nil.
func (g *greedy) get(name types.NamespacedName) *v1alpha1.VmGroup {
	of := &v1alpha1.VmGroup{}
	switch err := g.member.Get(g.t.Context(), name, of); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		g.c.Fatal(err)
	}
	return of
}

func (g *greedy) must(err error) {
	if err != nil {
		g.c.Fatal(err)
	}
}

func (g *greedy) draw(c *rapid.T, s *v1alpha1.VmGroupSpec) {
	replicas := int32(rapid.IntRange(0, mostVMs).Draw(c, "replicas"))
	s.CPU, s.Memory, s.Replicas = int32(rapid.IntRange(1, 5).Draw(c, "cpu")), 1, &replicas
	s.Template = rapid.SampledFrom([]string{"debian-12", "debian-13"}).Draw(c, "template")
	// The API refuses smaller disks, and allows fewer.
	was := s.Shape()
	s.Disks = &v1alpha1.Disks{}
	if size := rapid.SampledFrom([]int32{0, 10, 20, 40}).Draw(c, "disk"); size != 0 {
		s.Disks.Root = &v1alpha1.RootDisk{SizeGiB: max(size, was.RootDiskGiB())}
	}
	for _, name := range rapid.SampledFrom([][]string{nil, {"data"}, {"logs"}, {"logs", "data"}}).Draw(c, "data") {
		d := v1alpha1.DataDisk{Name: name, SizeGiB: rapid.SampledFrom([]int32{1, 5, 20}).Draw(c, name)}
		for _, old := range was.DataDisks() {
			if old.Name == name {
				d.SizeGiB = max(d.SizeGiB, old.SizeGiB)
			}
		}
		s.Disks.Data = append(s.Disks.Data, d)
	}
	surge, unavailable := intstr.FromInt(rapid.IntRange(0, 2).Draw(c, "surge")), intstr.FromInt(rapid.IntRange(0, 2).Draw(c, "unavailable"))
	s.UpdateStrategy = &v1alpha1.UpdateStrategy{MaxSurge: &surge, MaxUnavailable: &unavailable}
	s.DeletionPolicy = rapid.SampledFrom([]v1alpha1.DeletionPolicy{v1alpha1.DeletionDelete, v1alpha1.DeletionRetain}).Draw(c, "deletion")
	s.Paused = rapid.IntRange(0, 9).Draw(c, "paused") == 9
}

// ask creates a group, or edits the existing one.
func (g *greedy) ask(c *rapid.T) {
	name := g.name(c)
	of := g.get(name)
	if of == nil {
		g.born++
		of = &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
			Namespace: name.Namespace, Name: name.Name, UID: types.UID(fmt.Sprintf("%08d-0000-4000-8000-000000000000", g.born)),
			Generation: 1, CreationTimestamp: metav1.NewTime(g.now),
		}}
		g.draw(c, &of.Spec)
		g.must(g.member.Create(g.t.Context(), of))
		return
	}
	if of.DeletionTimestamp == nil {
		g.draw(c, &of.Spec)
		of.Generation++
		g.must(g.member.Update(g.t.Context(), of))
	}
}

func (g *greedy) remove(c *rapid.T, withFinalizer bool) {
	of := g.get(g.name(c))
	if of == nil {
		return
	}
	if !withFinalizer && len(of.Finalizers) > 0 {
		of.Finalizers = nil
		g.must(g.member.Update(g.t.Context(), of))
		if of = g.get(types.NamespacedName{Namespace: of.Namespace, Name: of.Name}); of == nil {
			return
		}
	}
	if of.DeletionTimestamp == nil {
		g.must(g.member.Delete(g.t.Context(), of))
	}
}

// work lets the operator and vCenter do their work in between.
func (g *greedy) work(rounds int) {
	for range rounds {
		g.inform(g.Reconciler)
		for i := range names {
			request := g.request
			request.Name = fmt.Sprintf("g%d", i)
			if _, err := g.Reconcile(g.t.Context(), request); err != nil {
				g.c.Fatal(err)
			}
		}
		g.must(g.ledger.Flush(g.t.Context()))
		g.vcenter.Finish(-1)
		g.now = g.now.Add(2 * time.Second)
		g.check()
	}
}

// check counts the VMs of the namespace in vCenter, including released and orphaned VMs.
func (g *greedy) check() {
	var vms, cpus, storage int64
	for _, vm := range g.vcenter.VMs() {
		if vm.Stamp != nil || vm.Released != nil {
			vms, cpus, storage = vms+1, cpus+int64(vm.CPU), storage+int64(g.vcenter.RootDiskGiB(vm.Ref.Value))
		}
		data, known := vm.DataDisks.Attached()
		for _, d := range data {
			storage += int64(d.SizeGiB)
		}
		if vm.RootDiskGiB == 0 || !known {
			g.c.Fatalf("%s was cloned with a disk that counts nowhere", vm.Name)
		}
	}
	if vms > mostVMs || cpus > mostCPUs || storage > mostGiB {
		g.c.Fatalf("%d VMs with %d CPUs and %d GiB of disks exist under a quota of %d VMs, %d CPUs and %d GiB", vms, cpus, storage, mostVMs, mostCPUs, mostGiB)
	}
}

var quotaHistories = flag.Int("quota.histories", 15, "histories of a greedy namespace that the model tries")

// greedyHistories runs the number of histories in the flag.
func greedyHistories(t *testing.T, try func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value // there is no other way to get the number
	before := checks.String()
	if err := checks.Set(strconv.Itoa(*quotaHistories)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = checks.Set(before) }()
	rapid.Check(t, try)
}

// TestWhatRunsNeverExceedsTheQuota: whatever users of a namespace do, in any order, the VMs in vCenter stay within the quota. In the end, when an
// administrator has deleted all remaining VMs, none of it is charged any more.
func TestWhatRunsNeverExceedsTheQuota(t *testing.T) {
	greedyHistories(t, func(c *rapid.T) {
		g := newGreedy(t, c)
		c.Repeat(map[string]func(*rapid.T){
			"":                       func(*rapid.T) { g.check() },
			"ask":                    func(c *rapid.T) { g.ask(c); g.work(rapid.IntRange(0, 7).Draw(c, "rounds")) },
			"delete":                 func(c *rapid.T) { g.remove(c, true); g.work(rapid.IntRange(0, 7).Draw(c, "rounds")) },
			"without a finalizer":    func(c *rapid.T) { g.remove(c, false) },
			"work":                   func(*rapid.T) { g.work(3) },
			"a while":                func(*rapid.T) { g.now = g.now.Add(7 * time.Minute); g.ledger.Collect(g.t.Context()) },
			"the hub is backed up":   func(*rapid.T) { g.backUp() },
			"the hub is restored":    func(*rapid.T) { g.restore() },
			"vCenter is unreachable": func(*rapid.T) { g.vcenter.Disconnect(nil); g.work(1); g.vcenter.Reconnect() },
			"nothing is known yet":   func(*rapid.T) { g.vcenter.SetIncomplete("it is read"); g.work(1); g.vcenter.SetIncomplete("") },
		})
		for i := range names {
			if of := g.get(types.NamespacedName{Namespace: "team", Name: fmt.Sprintf("g%d", i)}); of != nil {
				of.Finalizers = nil
				g.must(g.member.Update(g.t.Context(), of))
				_ = g.member.Delete(g.t.Context(), of)
			}
		}
		g.work(3)
		g.vcenter.Finish(-1)
		for _, vm := range g.vcenter.VMs() {
			g.vcenter.ByHand().Delete(vm.Ref.Value)
		}
		for range 4 {
			g.now = g.now.Add(7 * time.Minute)
			g.ledger.Collect(g.t.Context())
			g.must(g.ledger.Flush(g.t.Context()))
		}
		replicas := int32(mostVMs)
		claim := quota.Claim{Spec: v1alpha1.VmGroupSpec{
			CPU: 2, Memory: 1, Template: "t", Replicas: &replicas, Disks: &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: mostGiB / mostVMs}},
		}}
		claim.UID, claim.Name, claim.Requester.Member, claim.Requester.Namespace = "last", "last", v1alpha1.LocalMember, "team"
		claim.Wants = policy.UsageOf(claim.Spec)
		g.ledger.Ask(g.t.Context(), claim)
		g.must(g.ledger.Flush(g.t.Context()))
		if answer := g.ledger.Ask(g.t.Context(), claim); answer.Outcome != quota.Granted {
			c.Fatalf("nothing is left, and the whole quota is not to be had: %+v", answer)
		}
	})
}

// TestVMsThatLeaveCountUntilTheyAreGone: scaling to zero and back gives no VM beside those being removed.
func TestVMsThatLeaveCountUntilTheyAreGone(t *testing.T) {
	greedyHistories(t, func(c *rapid.T) {
		g := newGreedy(t, c)
		first, next := rapid.IntRange(1, mostVMs).Draw(c, "first"), rapid.IntRange(1, mostVMs).Draw(c, "next")
		cpus := mostCPUs / max(first, next)
		g.born++
		of := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "g0", UID: "00000001-0000-4000-8000-000000000000", Generation: 1, CreationTimestamp: metav1.NewTime(g.now),
		}, Spec: v1alpha1.VmGroupSpec{CPU: int32(cpus), Memory: 1, Replicas: ptr.To(int32(first)), Template: "debian-12", Disks: &v1alpha1.Disks{Root: &v1alpha1.RootDisk{SizeGiB: 10}}}}
		g.must(g.member.Create(t.Context(), of))
		g.work(5)
		for _, replicas := range []int{0, next} {
			of = g.get(client.ObjectKeyFromObject(of))
			of.Spec.Replicas = ptr.To(int32(replicas))
			of.Generation++
			g.must(g.member.Update(t.Context(), of))
			g.work(rapid.IntRange(0, 4).Draw(c, "rounds"))
		}
		g.work(8)
		if vms := g.vcenter.VMs(); len(vms) != next {
			c.Errorf("%d VMs are there in the end, want %d: %s", len(vms), next, g.get(client.ObjectKeyFromObject(of)).Status.LastMessage)
		}
	})
}
