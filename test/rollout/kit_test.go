//go:build unix && slow

package rollout

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// fleet is the one group of a story, in a separate namespace.
type fleet struct {
	t       *testing.T
	cluster *stack.Cluster
	key     client.ObjectKey
	desired int32
	uid     string
	// folder of the group in vCenter.
	folder v1alpha1.FolderStatus
	// last is the epoch of the last seen owner, edits the number of edits without an effect.
	last  v1alpha1.Epoch
	edits int
}

// newFleet creates a group and waits until its VMs are available.
func newFleet(t *testing.T, member, name string, desired int32, template string, change func(*v1alpha1.VmGroupSpec)) *fleet {
	t.Helper()
	f := newNamespace(t, member, name, desired)
	g := f.object()
	g.Spec = v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &desired}
	change(&g.Spec)
	if err := f.cluster.Create(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	f.untilMade()
	return f
}

// newNamespace creates the namespace of a group that the caller creates. The caller then calls untilMade.
func newNamespace(t *testing.T, member, name string, desired int32) *fleet {
	t.Helper()
	f := &fleet{t: t, cluster: shared.Members[member], key: client.ObjectKey{Namespace: name, Name: "web"}, desired: desired}
	if err := f.cluster.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
	return f
}

// untilMade waits until the group has its first VMs.
func (f *fleet) untilMade() {
	f.t.Helper()
	g := f.untilUpdated()
	f.uid, f.folder = string(g.UID), *g.Status.Folder
}

func (f *fleet) object() *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: f.key.Namespace, Name: f.key.Name}}
}

// strategy of an update, each a number or a percentage.
func strategy(surge, unavailable intstr.IntOrString) *v1alpha1.UpdateStrategy {
	return &v1alpha1.UpdateStrategy{MaxSurge: &surge, MaxUnavailable: &unavailable}
}

// patch edits the group. A new API server does not serve it yet.
func (f *fleet) patch(patch string) {
	f.t.Helper()
	await.NoError(f.t, "the edit "+patch, func() error {
		return f.cluster.Patch(f.t.Context(), f.object(), client.RawPatch(types.MergePatchType, []byte(patch)))
	})
}

// until waits until the group is as wanted, and returns it. The status must be of the current generation.
func (f *fleet) until(what string, wanted func(*v1alpha1.VmGroup) bool) *v1alpha1.VmGroup {
	f.t.Helper()
	g := f.object()
	await.Until(f.t, fmt.Sprintf("VmGroup %s: %s", f.key, what), func(ctx context.Context) (bool, error) {
		err := f.cluster.Get(ctx, f.key, g)
		return err == nil && g.Status.ObservedGeneration == g.Generation && wanted(g), err
	}, func() string {
		return fmt.Sprintf("phase %s, rollout %+v, vms %+v, %s", g.Status.Phase, g.Status.Rollout, g.Status.VMs, stack.Words(g.Status.Conditions))
	})
	return g
}

// untilUpdated waits until all VMs match spec, without extra ones.
func (f *fleet) untilUpdated() *v1alpha1.VmGroup {
	f.t.Helper()
	return f.until("all VMs to be as spec says", func(g *v1alpha1.VmGroup) bool {
		s := &g.Status
		return s.Phase == v1alpha1.PhaseRunning && stack.IsReady(s.Conditions) && s.Replicas == f.desired && s.ReadyReplicas == f.desired &&
			s.UpdatedReplicas == f.desired && len(s.VMs) == int(f.desired) && meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionUpToDate)
	})
}

// untilSays waits for a condition with a reason, and for parts of its message.
func (f *fleet) untilSays(conditionType, reason string, mentions ...string) *v1alpha1.VmGroup {
	f.t.Helper()
	return f.until(fmt.Sprintf("%s with reason %s and %q", conditionType, reason, mentions), func(g *v1alpha1.VmGroup) bool {
		return says(g, conditionType, reason, mentions...)
	})
}

func says(g *v1alpha1.VmGroup, conditionType, reason string, mentions ...string) bool {
	c := meta.FindStatusCondition(g.Status.Conditions, conditionType)
	if c == nil || c.Reason != reason {
		return false
	}
	for _, m := range mentions {
		if !strings.Contains(c.Message, m) {
			return false
		}
	}
	return true
}

// vms are the VMs in the group's folder in vCenter, by reference.
func (f *fleet) vms() map[string]sim.VM {
	f.t.Helper()
	all, err := shared.Person.VMs(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	vms := map[string]sim.VM{}
	for path, vm := range all {
		if strings.HasPrefix(path, f.folder.Path+"/") {
			vms[vm.Ref.Value] = vm
		}
	}
	return vms
}

// of counts the VMs of a template.
func of(vms map[string]sim.VM, template string) (n int) {
	for _, vm := range vms {
		if vm.Extra[mark] == template {
			n++
		}
	}
	return n
}

// changes are the changing calls for the group, in the order of their arrival at vCenter.
func (f *fleet) changes() (calls []sim.Record) {
	for _, r := range shared.Proxy.Records() {
		if r.Group == f.uid && r.UserAgent != sim.UserAgent {
			calls = append(calls, r)
		}
	}
	return calls
}

// exactly checks that the group has its wanted number of VMs, all as wanted, and that its status names them.
func (f *fleet) exactly(g *v1alpha1.VmGroup, wanted func(sim.VM) bool) map[string]sim.VM {
	f.t.Helper()
	vms := f.vms()
	left := maps.Clone(vms)
	for _, vm := range g.Status.VMs {
		is, there := vms[vm.MoRef]
		if !there || is.Path != f.folder.Path+"/"+vm.Name || is.UUID != vm.UUID {
			f.t.Errorf("status says %s is %s (%s), vCenter %+v", vm.Name, vm.MoRef, vm.UUID, is)
		}
		delete(left, vm.MoRef)
	}
	for _, vm := range left {
		f.t.Errorf("status does not know %s (%s)", vm.Path, vm.Ref.Value)
	}
	if len(vms) != int(f.desired) {
		f.t.Errorf("%d VMs are there, want %d", len(vms), f.desired)
	}
	for _, vm := range vms {
		if !vm.On || !wanted(vm) || vm.Extra[revision] != g.Status.UpdateRevision {
			f.t.Errorf("%s is %+v, and spec's revision %s", vm.Path, vm, g.Status.UpdateRevision)
		}
	}
	return vms
}

// revision is the key of extraConfig in which the operator writes a VM's revision, as documented in
// docs/reference/vmgroup.md.
const revision = "vmgroup.revision"

// differ returns the differences of VMs from the wanted ones.
func differ(was, is map[string]sim.VM) error {
	for ref, vm := range was {
		now, there := is[ref]
		switch {
		case !there:
			return fmt.Errorf("%s (%s) was deleted", vm.Path, ref)
		case now.On != vm.On || now.CPU != vm.CPU || now.MemoryMB != vm.MemoryMB || now.Path != vm.Path || now.UUID != vm.UUID || !maps.Equal(now.Extra, vm.Extra):
			return fmt.Errorf("%+v became %+v", vm, now)
		case (vm.BootTime == nil) != (now.BootTime == nil) || vm.BootTime != nil && !vm.BootTime.Equal(*now.BootTime):
			return fmt.Errorf("%s was restarted", vm.Path)
		}
	}
	if len(was) != len(is) {
		return fmt.Errorf("%d VMs are there, want %d", len(is), len(was))
	}
	return nil
}
