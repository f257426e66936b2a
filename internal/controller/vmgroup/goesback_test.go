package vmgroup

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted/admittedtest"
	"github.com/codeconnect/vmgroup-operator/internal/observe"
	"github.com/codeconnect/vmgroup-operator/internal/sharding"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

var histories = flag.Int("goesback.histories", 500, "histories in which the world goes back that the model tries")

// TestWhateverGoesBackNoVMIsDoubledOrLost tries random histories of one group. The operator's knowledge (status, the shard map, its
// memory, the inventory) is set back to an earlier state or made up, at any moment. The invariants are counted in vCenter itself: a clone
// is never submitted if the desired number of VMs exists, and a VM is never removed if no more than that number exists. Once the
// knowledge is complete, the group is ready with exactly those VMs.
func TestWhateverGoesBackNoVMIsDoubledOrLost(t *testing.T) {
	for seed := range *histories {
		w := newGoingBack(t, uint64(seed))
		for range 25 {
			w.step()
		}
		w.converge()
		w.queue.ShutDown()
		if len(w.wrong) > 0 {
			t.Fatalf("seed %d: %s\n%s", seed, strings.Join(w.wrong, "\n"), strings.Join(w.history, "\n"))
		}
	}
}

// goingBack is a group, its vCenter and the operator, in a world whose state is set back.
type goingBack struct {
	*Reconciler
	t       *testing.T
	random  *rand.Rand
	now     time.Time
	vcenter *fake.Server
	// elsewhere is another vCenter, to which the group's VCenter can lead.
	elsewhere *fake.Server
	gate      *testGate
	request   mcreconcile.Request
	records   admittedtest.Memory
	// stored is the group as its API server has it; earlier are its previous statuses.
	stored  *v1alpha1.VmGroup
	version int
	earlier []backup
	// newest is the highest version so far. A restore with a revision bump continues above it.
	newest int
	hidden map[string]bool
	// innocent is a foreign VM, in a foreign folder.
	innocent vsphere.Ref
	stranger vsphere.Folder
	history  []string
	wrong    []string
}

// backup is the API server's state in the backup.
type backup struct {
	status  v1alpha1.VmGroupStatus
	version int
}

func newGoingBack(t *testing.T, seed uint64) *goingBack {
	w := &goingBack{t: t, random: rand.New(rand.NewPCG(seed, 13)), now: noon, gate: &testGate{epoch: sharding.Epoch{Generation: 5}}, hidden: map[string]bool{}}
	clock := func() time.Time { return w.now }
	w.vcenter = fake.New(fake.Options{Now: clock})
	w.elsewhere = fake.New(fake.Options{Now: clock, InstanceUUID: "elsewhere"})
	for _, vcenter := range []*fake.Server{w.vcenter, w.elsewhere} {
		vcenter.AddTemplate(vsphere.Template{Name: "debian-12"})
	}
	folder, err := w.vcenter.EnsureFolder(vsphere.WithFence(t.Context(), func() error { return nil }),
		vsphere.FolderPath{Member: "other", Namespace: "team", Leaf: "db.0a1b2c3d"})
	if err != nil {
		t.Fatal(err)
	}
	w.stranger, w.innocent = folder, w.vcenter.ByHand().AddForeignVM(folder.Ref, "db-0")
	w.stored = &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "6d1b1c5e-0000-4000-8000-000000000001", Generation: 1, CreationTimestamp: metav1.NewTime(noon)},
		Spec:       v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: "debian-12", Replicas: new(int32(2))},
	}
	w.request = mcreconcile.Request{
		ClusterName: v1alpha1.LocalMember, Request: reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "team", Name: "web"}},
	}
	w.start()
	return w
}

// start is a new process.
func (w *goingBack) start() {
	clock := func() time.Time { return w.now }
	if w.Reconciler != nil {
		w.queue.ShutDown()
	}
	w.Reconciler = &Reconciler{
		Observer: observing(&observe.Sources{
			Clusters: testCluster{client: goingBackClient{w: w}}, Hub: goingBackClient{w: w}, Servers: fake.Servers{"default": w.vcenter}, Fleet: newFleet(clock),
			Installation: "installation", Now: clock,
		}, &w.records),
		Shards: w.gate, Records: &w.records, HubWrites: writebudget.New(writebudget.Default, clock), vanished: newVanished(),
	}
	w.queue = testQueue(w.Reconciler)
	w.Memory = recollection{w.Reconciler}
	if err := w.equip(); err != nil {
		w.t.Fatal(err)
	}
}

// step is one random event.
func (w *goingBack) step() {
	type event struct {
		weight int
		name   string
		do     func()
	}
	events := []event{
		{12, "pass", w.pass},
		{5, "tasks end", func() { w.vcenter.Finish(1 + w.random.IntN(3)) }},
		{3, "vCenter confirms deleted VMs", w.vcenter.Confirm},
		{3, "a minute passes", func() { w.now = w.now.Add(time.Minute) }},
		{3, "replicas are edited", func() {
			w.stored.Spec.Replicas = new(int32(w.random.IntN(5)))
			w.stored.Generation++
			w.written()
		}},
		{3, "status goes back", func() {
			if len(w.earlier) > 0 {
				w.setStatus(w.earlier[w.random.IntN(len(w.earlier))].status)
			}
		}},
		{2, "the member is restored with a revision bump", func() {
			if len(w.earlier) > 0 {
				old := w.earlier[w.random.IntN(len(w.earlier))]
				w.stored.Status, w.version = *old.status.DeepCopy(), old.version
			}
		}},
		{1, "status is wiped", func() { w.setStatus(v1alpha1.VmGroupStatus{}) }},
		{1, "status names another's folder", func() {
			s := *w.stored.Status.DeepCopy()
			s.Folder = &v1alpha1.FolderStatus{Path: w.stranger.Path, MoRef: w.stranger.Ref.Value}
			w.setStatus(s)
		}},
		{1, "status names another's VM", func() {
			if s := *w.stored.Status.DeepCopy(); len(s.VMs) > 0 {
				s.VMs[w.random.IntN(len(s.VMs))].MoRef = w.innocent.Value
				w.setStatus(s)
			}
		}},
		{1, "status names a VCenter that is not there", func() {
			s := *w.stored.Status.DeepCopy()
			s.VCenter = "nope"
			w.setStatus(s)
		}},
		{1, "the shard map is restored", func() { w.gate.epoch.Generation = 1 + int64(w.random.IntN(5)) }},
		{1, "the shard map advances", func() { w.gate.epoch.Generation = max(w.gate.epoch.Generation, 5) + 1 }},
		{2, "a new process", w.start},
		{2, "the VCenter leads to another vCenter for a while", w.visit},
		{2, "a VM is not seen", w.hide},
		{2, "all VMs are seen", w.show},
		{1, "answers about what is missing take time", w.vcenter.DelayConfirmations},
		{1, "the inventory is incomplete", func() { w.vcenter.SetIncomplete("being read") }},
		{2, "the inventory is complete", func() { w.vcenter.SetIncomplete("") }},
		{1, "the reply to a clone is lost, and it was made", func() { w.vcenter.LoseReply(vsphere.OpClone, 1, true) }},
		{1, "the reply to a clone is lost, and it was not", func() { w.vcenter.LoseReply(vsphere.OpClone, 1, false) }},
		{1, "a person deletes a VM", func() {
			if vms := w.ours(); len(vms) > 0 {
				w.vcenter.ByHand().Delete(vms[w.random.IntN(len(vms))].Ref.Value)
			}
		}},
	}
	total := 0
	for _, e := range events {
		total += e.weight
	}
	at := w.random.IntN(total)
	for _, e := range events {
		if at -= e.weight; at < 0 {
			w.history = append(w.history, e.name)
			e.do()
			return
		}
	}
}

// ours are the VMs of the group in vCenter that are not being removed.
func (w *goingBack) ours() []vsphere.VM {
	var vms []vsphere.VM
	for _, vm := range w.vcenter.VMs() {
		if vm.Stamp != nil && !vm.Tombstone {
			vms = append(vms, vm)
		}
	}
	return vms
}

// visit lets the operator work while the VCenter leads to another vCenter. Only status can show that: a vCenter without a VM has nothing
// to mix up.
func (w *goingBack) visit() {
	if len(w.stored.Status.VMs) == 0 || w.stored.Status.VCenterInstanceUUID == "" {
		return
	}
	w.Servers = fake.Servers{"default": w.elsewhere}
	for range 2 {
		w.pass()
		w.elsewhere.Confirm()
		w.elsewhere.Finish(-1)
	}
	w.Servers = fake.Servers{"default": w.vcenter}
	for _, call := range w.elsewhere.Journal() {
		w.wrong = append(w.wrong, fmt.Sprintf("%s in a vCenter in which the group has nothing", call))
	}
}

func (w *goingBack) hide() {
	if vms := w.ours(); len(vms) > 0 {
		name := vms[w.random.IntN(len(vms))].Name
		w.vcenter.Hide(name)
		w.hidden[name] = true
	}
}

func (w *goingBack) show() {
	for name := range w.hidden {
		if _, there := w.vcenter.VM(name); there {
			w.vcenter.Show(name)
		}
	}
	clear(w.hidden)
}

func (w *goingBack) pass() {
	was, calls := len(w.ours()), len(w.vcenter.Journal())
	marking := map[vsphere.Ref]bool{}
	for _, op := range w.vcenter.Observe(vsphere.Query{ID: vsphere.GroupID{Installation: "installation", Member: "member-uid", Group: string(w.stored.UID)}}).InFlight {
		switch op.Kind {
		case vsphere.OpClone:
			was++
		case vsphere.OpMark:
			if slices.ContainsFunc(w.ours(), func(vm vsphere.VM) bool { return vm.Ref == op.VM }) {
				was-- // it shows no tombstone yet
				marking[op.VM] = true
			}
		}
	}
	if _, err := w.Reconcile(w.t.Context(), w.request); err != nil {
		w.wrong = append(w.wrong, "a pass failed: "+err.Error())
	}
	desired := int(*w.stored.Spec.Replicas)
	clones, marks := 0, 0
	for _, call := range w.vcenter.Journal()[calls:] {
		w.history = append(w.history, fmt.Sprintf("  %s (%s), %d wanted", call, call.VM.Value, desired))
		if call.Err != nil {
			continue
		}
		switch call.Kind {
		case vsphere.OpClone:
			clones++
		case vsphere.OpMark, vsphere.OpRelease:
			if !marking[call.VM] { // otherwise it replaces one that hangs
				marks++
			}
		}
		if call.VM == w.innocent || call.Kind == fake.OpDestroyFolder {
			w.wrong = append(w.wrong, fmt.Sprintf("%s touches what is not the group's", call))
		}
	}
	if clones > 0 && was+clones > desired {
		w.wrong = append(w.wrong, fmt.Sprintf("%d VMs were there, %d were cloned, %d are wanted", was, clones, desired))
	}
	if marks > 0 && was-marks < desired {
		w.wrong = append(w.wrong, fmt.Sprintf("%d VMs were there, %d were taken away, %d are wanted", was, marks, desired))
	}
}

// converge completes the operator's knowledge, and lets the operator work.
func (w *goingBack) converge() {
	w.history = append(w.history, "knowledge is whole")
	w.show()
	w.vcenter.SetIncomplete("")
	w.gate.epoch.Generation = 100
	w.work()
	if c := meta.FindStatusCondition(w.stored.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Reason == v1alpha1.ReasonVCenterNotFound {
		w.stored.Status.VCenter = "" // no observation confirms any of the record, and the condition has the remedy
		w.work()
	}
	g, wants := w.stored, int(*w.stored.Spec.Replicas)
	if n := len(w.ours()); n != wants || int(g.Status.ReadyReplicas) != wants || g.Status.Phase != v1alpha1.PhaseRunning {
		w.wrong = append(w.wrong, fmt.Sprintf("it ends with %d VMs, %d wanted: %s", n, wants, words(g.Status.Conditions)))
	}
}

// work lets the operator work until it has nothing left to do.
func (w *goingBack) work() {
	for range 60 {
		if len(w.wrong) > 0 {
			return
		}
		w.vcenter.Confirm()
		w.pass()
		w.vcenter.Finish(-1)
		w.now = w.now.Add(time.Minute)
	}
}

// written gives the group a version above all earlier ones.
func (w *goingBack) written() {
	w.newest++
	w.version = w.newest
}

func (w *goingBack) setStatus(s v1alpha1.VmGroupStatus) {
	w.written()
	w.stored.Status = *s.DeepCopy()
}

// goingBackClient is the API server of hub and member, as far as a pass needs them.
type goingBackClient struct {
	client.Client
	w *goingBack
}

func (c goingBackClient) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *v1alpha1.VmGroup:
		c.w.stored.DeepCopyInto(o)
		o.ResourceVersion = fmt.Sprint(c.w.version + 1)
	case *v1alpha1.VCenter:
		if key.Name != "default" {
			return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("vcenters").GroupResource(), key.Name)
		}
		o.Name = key.Name
	}
	return nil
}

func (c goingBackClient) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}

// Patch stores finalizers.
func (c goingBackClient) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	c.w.written()
	c.w.stored.Finalizers = o.GetFinalizers()
	o.SetResourceVersion(fmt.Sprint(c.w.version + 1))
	return nil
}

func (c goingBackClient) Status() client.SubResourceWriter { return goingBackStatus{w: c.w} }

type goingBackStatus struct {
	client.SubResourceWriter
	w *goingBack
}

func (s goingBackStatus) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	next, ok := o.(*v1alpha1.VmGroup)
	if !ok {
		return fmt.Errorf("status of a %T", o)
	}
	s.w.earlier = append(s.w.earlier, backup{*s.w.stored.Status.DeepCopy(), s.w.version})
	s.w.setStatus(next.Status)
	next.ResourceVersion = fmt.Sprint(s.w.version + 1)
	return nil
}
