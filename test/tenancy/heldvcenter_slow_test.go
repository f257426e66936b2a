//go:build unix && slow

package tenancy

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

// heldVCenter is a vCenter for a single story, in which clones run until the story ends them. It stays until all
// stories have ended, as its groups do.
type heldVCenter struct {
	t      *testing.T
	name   string
	person *sim.Operator

	mu sync.Mutex
	// begun are the names of the cloned VMs, in the order in which the clones began.
	begun []string
	// held are the running clones, the oldest first.
	held []heldClone
	// most is the maximum number of concurrent clones, and free is true once clones end automatically.
	most int
	free bool
}

// heldClone is a clone that runs until its end is closed.
type heldClone struct {
	vm  string
	end chan struct{}
}

func newHeldVCenter(t *testing.T, w *world, name string) *heldVCenter {
	t.Helper()
	v := &heldVCenter{t: t, name: name}
	vcenter, err := sim.Start(sim.Options{
		Templates: []string{template}, Ordinary: []string{}, Username: stack.Username, Password: stack.Password, HoldClone: v.hold,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.closers = append(w.closers, vcenter.Close)
	t.Cleanup(v.letGo)
	if v.person, err = vcenter.Operator(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.person.Close)
	object := &v1alpha1.VCenter{}
	if err := w.Hub.Get(t.Context(), types.NamespacedName{Name: "default"}, object); err != nil {
		t.Fatal(err)
	}
	object.ObjectMeta, object.Status = metav1.ObjectMeta{Name: name}, v1alpha1.VCenterStatus{}
	object.Spec.Server, object.Spec.Folder = vcenter.URL, name
	object.Spec.Limits = v1alpha1.VCenterLimits{Tasks: slots, TasksPerHost: slots}
	if err := w.Hub.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "VCenter "+name+" to be served", func(ctx context.Context) (bool, error) {
		err := w.Hub.Get(ctx, types.NamespacedName{Name: name}, object)
		return err == nil && stack.IsReady(object.Status.Conditions), err
	}, func() string { return stack.Words(object.Status.Conditions) })
	return v
}

// hold is sim.Options.HoldClone.
func (v *heldVCenter) hold(vm string) (until <-chan struct{}, takesName bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.begun = append(v.begun, vm)
	if v.free {
		return nil, false
	}
	clone := heldClone{vm, make(chan struct{})}
	v.held = append(v.held, clone)
	v.most = max(v.most, len(v.held))
	return clone.end, false
}

// endOldest ends the clone that has run for longest.
func (v *heldVCenter) endOldest() {
	v.mu.Lock()
	defer v.mu.Unlock()
	close(v.held[0].end)
	v.held = v.held[1:]
}

// letGo ends all clones, and makes later ones end automatically.
func (v *heldVCenter) letGo() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, clone := range v.held {
		close(clone.end)
	}
	v.held, v.free = nil, true
}

// untilFull waits until clones have all slots. Other tasks end automatically.
func (v *heldVCenter) untilFull() {
	v.t.Helper()
	await.True(v.t, fmt.Sprintf("%d clones to run", slots), func() bool {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.held) >= slots
	}, func() string { return fmt.Sprintf("those of %v run, of %v have begun", v.running(), v.begunSince(0)) })
}

// untilAllRun waits until this many VMs run. Each was cloned once, and never too many at a time.
func (v *heldVCenter) untilAllRun(want int) {
	v.t.Helper()
	on := map[string]int{}
	await.Until(v.t, fmt.Sprintf("%d VMs to run", want), func(ctx context.Context) (bool, error) {
		all, err := v.person.VMs(ctx)
		clear(on)
		running := 0
		for path, vm := range all {
			if vm.On && vm.Extra["vmgroup.owner"] != "" {
				on[tenantOf(path[strings.LastIndex(path, "/")+1:])]++
				running++
			}
		}
		return running == want, err
	}, func() string { return fmt.Sprintf("run: %v; were cloned: %v", maps.Clone(on), v.begunSince(0)) })
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.begun) != want || v.most > slots {
		v.t.Errorf("%d clones made %d VMs, and %d ran at a time; %d may", len(v.begun), want, v.most, slots)
	}
}

// count is the number of clones that have begun.
func (v *heldVCenter) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.begun)
}

// begunSince is the number of clones of each tenant that have begun after the first ones of all.
func (v *heldVCenter) begunSince(count int) map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	begun := map[string]int{}
	for _, vm := range v.begun[count:] {
		begun[tenantOf(vm)]++
	}
	return begun
}

// running is the number of running clones of each tenant.
func (v *heldVCenter) running() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	running := map[string]int{}
	for _, clone := range v.held {
		running[tenantOf(clone.vm)]++
	}
	return running
}

// tenantOf is the tenant that owns the group of a VM.
func tenantOf(vm string) string {
	name, _, _ := strings.Cut(vm, "-")
	return name
}
