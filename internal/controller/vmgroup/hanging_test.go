package vmgroup

import (
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
)

// hanging is a group of two VMs and a foreign VM. The first task of a kind on web-0 does not end on its own.
type hanging struct {
	*rig
	kind    vsphere.OperationKind
	foreign vsphere.Ref
}

func newHanging(t *testing.T, kind vsphere.OperationKind) *hanging {
	h := &hanging{rig: newRig(t), kind: kind}
	folder, err := h.vcenter.EnsureFolder(vsphere.WithFence(t.Context(), func() error { return nil }), vsphere.FolderPath{Member: "other", Namespace: "team", Leaf: "db.0a1b2c3d"})
	if err != nil {
		t.Fatal(err)
	}
	h.foreign = h.vcenter.ByHand().AddForeignVM(folder.Ref, "db-0")
	h.until("it hangs, and the other VM is on", func() bool {
		vm, there := h.vcenter.VM("web-1")
		return there && vm.Power == vsphere.PoweredOn && slices.ContainsFunc(h.inFlight(), h.held)
	}, 10*time.Second)
	return h
}

func (h *hanging) inFlight() []vsphere.Operation {
	return h.vcenter.Observe(vsphere.Query{ID: vsphere.GroupID{Installation: "installation", Member: "member-uid", Group: string(h.group().UID)}}).InFlight
}

func (h *hanging) held(op vsphere.Operation) bool { return op.Kind == h.kind && op.Ordinal == 0 }

// second is a pass, and a second of vCenter's work.
func (h *hanging) second() {
	h.t.Helper()
	h.mustPass()
	if h.gone() {
		return
	}
	for _, op := range h.inFlight() {
		if !h.held(op) {
			h.vcenter.FinishOne(h.key(), op.Ordinal)
		}
	}
	h.now = h.now.Add(time.Second)
}

// until fails unless a condition holds within a time.
func (h *hanging) until(what string, holds func() bool, within time.Duration) {
	h.t.Helper()
	for end := h.now.Add(within); !holds(); h.second() {
		if !h.now.Before(end) {
			h.t.Fatalf("not within %s: %s. The group says %q; vCenter has\n%s%v", within, what, h.said(), h.vcenter.Tree(), h.vcenter.Journal())
		}
	}
}

func (h *hanging) said() string {
	if h.gone() {
		return ""
	}
	return meta.FindStatusCondition(h.group().Status.Conditions, v1alpha1.ConditionReady).Message
}

func (h *hanging) gone() bool {
	g := &v1alpha1.VmGroup{}
	return apierrors.IsNotFound(h.member.Get(h.t.Context(), h.request.NamespacedName, g))
}

func (h *hanging) delete() {
	h.t.Helper()
	if err := h.member.Delete(h.t.Context(), h.group()); err != nil {
		h.t.Fatal(err)
	}
}

// ends fails unless the group is removed within a time, with its VMs and nothing else.
func (h *hanging) ends(within time.Duration) {
	h.t.Helper()
	h.until("the group is deleted", h.gone, within)
	for _, vm := range h.vcenter.VMs() {
		if vm.Ref != h.foreign {
			h.t.Errorf("%s is left", vm.Name)
		}
	}
	if _, there := h.vcenter.VM("db-0"); !there {
		h.t.Error("a foreign VM was destroyed")
	}
	for _, call := range h.vcenter.Journal() {
		if call.Kind == vsphere.OpDestroy && call.VM == h.foreign {
			h.t.Errorf("%v", call)
		}
	}
}

func (h *hanging) says(words ...string) func() bool {
	return func() bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(h.said(), word) })
	}
}

// atOnce is the time of a deletion without delays.
const atOnce = 15 * time.Second

func TestAGroupWhosePowerOnHangsGoesWhenItIsDeleted(t *testing.T) {
	h := newHanging(t, vsphere.OpPowerOn)
	h.until("the power-on is named", h.says("web-0", "its power-on runs in vCenter since 2026-01-02T12:00", "task-"), vsphere.HangsAfter+time.Second)
	h.delete()
	h.ends(atOnce)
}

func TestAGroupThatIsDeletedAsItsPowerOnBeginsToHangGoesAfterTwoMinutes(t *testing.T) {
	h := newHanging(t, vsphere.OpPowerOn)
	h.delete()
	h.ends(vsphere.HangsAfter + atOnce)
}

func TestAGroupWhoseCloneHangsGoesWhenItIsDeleted(t *testing.T) {
	h := newHanging(t, vsphere.OpClone)
	no := &vsphere.Error{Kind: vsphere.KindSpec, Op: "cancel a clone"}
	h.vcenter.FailSubmit(fake.OpCancel, 1, no)
	h.delete()
	h.until("vCenter's refusal is named", h.says("deleting: 1 VM is left", "web-0", "its clone runs", "did not cancel it"), vsphere.HangsAfter+atOnce)
	h.ends(vsphere.HangsAfter + atOnce)
}

func TestADeletionThatAQuestionHoldsNamesItAndGoesOnWithinSeconds(t *testing.T) {
	for story, act := range map[string]func(*vsphere.VM){
		"it is answered, and the VM starts": func(vm *vsphere.VM) { vm.Question, vm.Power = "", vsphere.PoweredOn },
		"the VM is powered off":             func(vm *vsphere.VM) { vm.Question = "" },
	} {
		t.Run(story, func(t *testing.T) {
			h := newHanging(t, vsphere.OpPowerOn)
			h.vcenter.ByHand().Edit("web-0", func(vm *vsphere.VM) { vm.Question = "moved or copied?" })
			h.until("the question is named", h.says("web-0", "moved or copied?", "answer it in the vSphere Client"), 5*time.Second)
			h.delete()
			for range 600 { // longer than any pause between two tries
				h.second()
			}
			if h.gone() || !h.says("moved or copied?", "mark web-0")() {
				t.Fatalf("gone: %v; it says %q", h.gone(), h.said())
			}
			h.vcenter.ByHand().Edit("web-0", act)
			h.ends(atOnce)
		})
	}
}
