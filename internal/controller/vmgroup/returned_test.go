package vmgroup

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

// A VM that returns under another reference has its instance UUID. It is the same VM, so no VM is cloned beside it.
func TestALostVMIsLookedForBeforeItIsReplaced(t *testing.T) {
	for story, c := range map[string]struct {
		happens func(r *rig, vm vsphere.VM)
		// clones is the number of new VMs; away is true if the VM is reported as outside of the root folder.
		clones int
		away   bool
	}{
		"its host is removed and added again, so that it is among the discovered VMs": {happens: func(r *rig, vm vsphere.VM) {
			r.vcenter.ByHand().Register(r.vcenter.ByHand().Unregister(vm.Ref.Value), vsphere.Ref{})
		}, away: true},
		"it is unregistered, and registered where it was": {happens: func(r *rig, vm vsphere.VM) {
			r.vcenter.ByHand().Register(r.vcenter.ByHand().Unregister(vm.Ref.Value), vm.Folder)
		}},
		"it is unregistered, and registered in another folder below the root by another name": {happens: func(r *rig, vm vsphere.VM) {
			files := r.vcenter.ByHand().Unregister(vm.Ref.Value)
			files.Name = "web-0 (registered)"
			r.vcenter.ByHand().Register(files, r.vcenter.Root())
		}},
		"it is moved out of the root folder": {happens: func(r *rig, vm vsphere.VM) { r.vcenter.ByHand().MoveOut(vm.Ref.Value) }, away: true},
		"it is moved to another vCenter and comes back": {happens: func(r *rig, vm vsphere.VM) {
			files := r.vcenter.ByHand().Unregister(vm.Ref.Value)
			r.work() // it is not in this vCenter: it is replaced
			r.vcenter.ByHand().Register(files, vsphere.Ref{})
		}, clones: 1},
		"it is deleted": {happens: func(r *rig, vm vsphere.VM) { r.vcenter.ByHand().Delete(vm.Ref.Value) }, clones: 1},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.settle()
			vm := *r.vm("web-0")
			r.vcenter.ClearJournal()
			c.happens(r, vm)
			g := r.work()
			if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != c.clones {
				t.Errorf("cloned %v, want %d", calls, c.clones)
			}
			if calls := r.vcenter.Calls(vsphere.OpMark, vsphere.OpDestroy, vsphere.OpRelease); len(calls) > 0 {
				t.Errorf("not left alone: %v", calls)
			}
			if !c.away {
				says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
				return
			}
			now := r.vm("web-0")
			message := says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonVMsLost)
			for _, want := range []string{now.Ref.Value, vm.Ref.Value, `"/DC0/vm/elsewhere/web-0"`, "move them back"} {
				if !strings.Contains(message, want) {
					t.Errorf("%q does not have %q", message, want)
				}
			}
			// Following the message resolves the problem.
			r.vcenter.ByHand().MoveInto(now.Ref.Value, vm.Folder)
			says(t, r.work(), v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
			if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) > 0 {
				t.Errorf("cloned %v", calls)
			}
		})
	}
}

// vCenter refuses clones for a while, as when a datastore is full. The VM that they replace returns meanwhile.
func TestALostVMIsLookedForBeforeEachAttemptToReplaceIt(t *testing.T) {
	for story, c := range map[string]struct {
		happens func(r *rig, files vsphere.VM)
		clones  int
		away    bool
	}{
		"it comes back outside of the root folder": {happens: func(r *rig, files vsphere.VM) { r.vcenter.ByHand().Register(files, vsphere.Ref{}) }, away: true},
		"it comes back where it was":               {happens: func(r *rig, files vsphere.VM) { r.vcenter.ByHand().Register(files, files.Folder) }},
		"it comes back, and another replica takes over": {happens: func(r *rig, files vsphere.VM) {
			r.vcenter.ByHand().Register(files, vsphere.Ref{})
			r.restarts()
		}, away: true},
		"it does not come back": {happens: func(*rig, vsphere.VM) {}, clones: 1},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			r.settle()
			r.vcenter.FailTask(vsphere.OpClone, 1000, &vsphere.Error{Kind: vsphere.KindTransient, Op: "clone", Err: errors.New("the datastore is full")})
			files := r.vcenter.ByHand().Unregister("web-0")
			r.work()
			c.happens(r, files)
			r.vcenter.Heal(vsphere.OpClone)
			r.vcenter.ClearJournal()
			r.now = r.now.Add(time.Hour) // longer than any pause between two tries
			g := r.work()
			if calls := r.vcenter.Calls(vsphere.OpClone); len(calls) != c.clones {
				t.Errorf("cloned %v, want %d", calls, c.clones)
			}
			if calls := r.vcenter.Calls(vsphere.OpMark, vsphere.OpDestroy, vsphere.OpRelease); len(calls) > 0 {
				t.Errorf("not left alone: %v", calls)
			}
			if c.away {
				says(t, g, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonVMsLost)
				r.vcenter.ByHand().MoveInto(r.vm("web-0").Ref.Value, files.Folder)
				g = r.work()
			}
			says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
			if replaces := g.Status.VMs[0].Replaces; replaces != nil {
				t.Errorf("status says still that web-0 replaces %+v", replaces)
			}
		})
	}
}

// A VM that was replaced and returns into the group's folder is surplus. Neither it nor another is destroyed, and a user decides.
func TestAVMThatComesBackAfterItWasReplacedIsNamedAndNotSurplus(t *testing.T) {
	r := newRig(t)
	r.settle()
	vm := *r.vm("web-0")
	files := r.vcenter.ByHand().Unregister(vm.Ref.Value)
	r.vcenter.ByHand().AddForeignVM(vm.Folder, "web-0") // so that another ordinal replaces it
	r.work()
	r.vcenter.ByHand().Delete("web-0")
	back := r.vcenter.ByHand().Register(files, vm.Folder)
	r.vcenter.ClearJournal()
	g := r.work()
	says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
	if message := says(t, g, v1alpha1.ConditionForeignVMs, "True", v1alpha1.ReasonReturnedVMs); !strings.Contains(message, back.Value) {
		t.Errorf("%q does not name %s", message, back.Value)
	}
	n := *g.Spec.Replicas
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Replicas = ptr.To(n + 1) })
	g = r.work()
	says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
	if meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionForeignVMs) != nil || int32(len(g.Status.VMs)) != n+1 {
		t.Errorf("%d VMs, %+v", len(g.Status.VMs), g.Status.Conditions)
	}
	if calls := r.vcenter.Calls(vsphere.OpClone, vsphere.OpMark, vsphere.OpDestroy, vsphere.OpRelease); len(calls) > 0 {
		t.Errorf("not left alone: %v", calls)
	}
}

var wanderingHistories = flag.Int("returned.histories", 12, "how many random histories of VMs that people take away and bring back")

// In random histories no VM is cloned while its predecessor is in the inventory, under any reference, and none is destroyed.
func TestNoVMIsClonedBesideItsPredecessor(t *testing.T) {
	for seed := range uint64(*wanderingHistories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { newWanderings(t, seed).run() })
		if t.Failed() {
			return
		}
	}
}

// wanderings are a history of a group whose VMs users move out and back.
type wanderings struct {
	*rig
	dice *rand.Rand
	// shelf are the files of unregistered VMs; ever are the instance UUIDs of all VMs that the group had, and last the one of each ordinal.
	shelf []vsphere.VM
	ever  map[string]bool
	last  map[int32]string
	log   []string
}

func newWanderings(t *testing.T, seed uint64) *wanderings {
	w := &wanderings{rig: newRig(t), dice: rand.New(rand.NewPCG(seed, 42)), ever: map[string]bool{}, last: map[int32]string{}}
	w.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	w.settle()
	return w
}

func (w *wanderings) run() {
	for range 14 {
		w.happen()
		for range w.dice.IntN(6) {
			w.passWatched()
		}
	}
	if calls := w.vcenter.Calls(vsphere.OpMark, vsphere.OpDestroy, vsphere.OpRelease); len(calls) > 0 {
		w.t.Errorf("not left alone: %v after %s", calls, strings.Join(w.log, "; "))
	}
	there := map[string]bool{}
	for _, vm := range append(w.vcenter.VMs(), w.shelf...) {
		there[strings.ToLower(vm.InstanceUUID)] = true
	}
	for uuid := range w.ever {
		if !there[uuid] {
			w.t.Errorf("%s was destroyed: %s", uuid, strings.Join(w.log, "; "))
		}
	}
}

// happen is the action of one user.
func (w *wanderings) happen() {
	hands, vms := w.vcenter.ByHand(), w.vcenter.VMs()
	if len(vms) == 0 {
		return
	}
	vm := vms[w.dice.IntN(len(vms))]
	outside := vsphere.FolderRef("group-v-elsewhere")
	free := func(folder vsphere.Ref, name string) bool {
		for _, other := range w.vcenter.VMs() {
			if other.Folder == folder && other.Name == name {
				return false
			}
		}
		return true
	}
	home := vsphere.FolderRef(w.group().Status.Folder.MoRef)
	places := []vsphere.Ref{outside, w.vcenter.Root(), home}
	place := places[w.dice.IntN(len(places))]
	switch w.dice.IntN(8) {
	case 0, 1:
		w.log = append(w.log, "unregister "+vm.Ref.Value)
		w.shelf = append(w.shelf, hands.Unregister(vm.Ref.Value))
	case 2:
		if n := len(w.shelf); n > 0 && free(place, w.shelf[n-1].Name) {
			ref := hands.Register(w.shelf[n-1], place)
			w.log, w.shelf = append(w.log, "register "+ref.Value+" in "+place.Value), w.shelf[:n-1]
		}
	case 3:
		if vm.Folder != place && free(place, vm.Name) {
			w.log = append(w.log, "move "+vm.Ref.Value+" to "+place.Value)
			hands.Edit(vm.Ref.Value, func(vm *vsphere.VM) { vm.Folder = place })
		}
	case 4:
		name := fmt.Sprintf("copy-%d", w.dice.IntN(1000))
		if free(vm.Folder, name) {
			w.log = append(w.log, "copy "+vm.Ref.Value)
			hands.CopyVM(vm.Ref.Value, name)
		}
	case 5:
		w.log = append(w.log, "a host is removed and added again")
		w.hostReturns(outside, free)
	case 6:
		w.log = append(w.log, "takeover")
		w.restarts()
	case 7:
		w.log = append(w.log, "the next clones fail")
		w.vcenter.FailTask(vsphere.OpClone, w.dice.IntN(5), &vsphere.Error{Kind: vsphere.KindTransient, Op: "clone", Err: errors.New("the datastore is full")})
	}
}

// hostReturns removes a host with some of the VMs, and adds it again later.
func (w *wanderings) hostReturns(outside vsphere.Ref, free func(vsphere.Ref, string) bool) {
	hands := w.vcenter.ByHand()
	var files []vsphere.VM
	for _, vm := range w.vcenter.VMs() {
		if w.dice.IntN(2) == 0 && free(outside, vm.Name) {
			files = append(files, hands.Unregister(vm.Ref.Value))
		}
	}
	for range w.dice.IntN(3) {
		w.passWatched()
	}
	for _, f := range files {
		if free(outside, f.Name) {
			hands.Register(f, outside)
		} else {
			w.shelf = append(w.shelf, f)
		}
	}
}

// passWatched runs a pass and checks its clones.
func (w *wanderings) passWatched() {
	w.t.Helper()
	last := map[int32]string{}
	for _, s := range w.group().Status.VMs {
		if last[s.Ordinal] = w.last[s.Ordinal]; s.MoRef != "" {
			last[s.Ordinal] = strings.ToLower(s.UUID)
		}
	}
	w.last = last
	here := map[string]vsphere.VM{}
	for _, vm := range w.vcenter.VMs() {
		here[strings.ToLower(vm.InstanceUUID)] = vm
		if vm.Stamp != nil {
			w.ever[strings.ToLower(vm.InstanceUUID)] = true
		}
	}
	before := len(w.vcenter.Journal())
	w.mustPass()
	for _, e := range w.vcenter.Journal()[before:] {
		if vm, there := here[w.last[e.Ordinal]]; e.Kind == vsphere.OpClone && there {
			w.t.Fatalf("%s was cloned while %s, the last VM of the ordinal, is %s in %s: %s", e.Name, w.last[e.Ordinal], vm.Ref.Value, vm.Folder.Value, strings.Join(w.log, "; "))
		}
	}
	w.vcenter.Finish(-1)
	w.now = w.now.Add(2e9)
}
