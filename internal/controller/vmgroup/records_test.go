package vmgroup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/fleet"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

func (r *rig) clones() int { return len(r.vcenter.Calls(vsphere.OpClone)) }

// accept does the work of a hub administrator: status is authoritative until then.
func (r *rig) accept(until time.Time) {
	r.memberIs(func(m *fleet.Member) { m.AcceptAdmitted = until })
}

func TestWhatAStatusShowsAsAdmittedIsNotBelieved(t *testing.T) {
	r := newRig(t)
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Limits: maxCPU(4).Limits, Templates: onlyTemplates("debian-*").Templates})
	r.vcenter.AddTemplate(vsphere.Template{Name: "windows"})
	r.settle()
	before := r.clones()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU, s.Template, *s.Replicas = 64, "windows", 9 })
	r.status(func(s *v1alpha1.VmGroupStatus) {
		s.Admitted = &v1alpha1.Admitted{Revision: r.group().Status.Admitted.Revision, Replicas: 9, VMShape: v1alpha1.VMShape{CPU: 64, Memory: 1, Template: "windows"}}
	})
	r.rounds(3)
	if n := r.clones() - before; n != 0 {
		t.Errorf("%d VMs were cloned that only a status says were admitted", n)
	}
	r.vcenter.ByHand().Delete("web-1")
	r.rounds(3)
	if vm := r.vm("web-1"); vm == nil || vm.CPU != 1 {
		t.Errorf("the lost VM did not come back as it was: %+v", vm)
	}
}

func TestAQuotaIsNotWhatAStatusShows(t *testing.T) {
	for story, forge := range map[string]func(*v1alpha1.VmGroupStatus){
		"more was admitted": func(s *v1alpha1.VmGroupStatus) { s.Admitted.Replicas = 9 },
		"more exists, and the record is lost": func(s *v1alpha1.VmGroupStatus) {
			s.Admitted, s.Replicas, s.VMs = nil, 9, make([]v1alpha1.VMStatus, 9)
		},
	} {
		t.Run(story, func(t *testing.T) {
			r := newRig(t)
			_, _, rounds := r.underQuota(5)
			rounds(4)
			r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 9 })
			for range 2 {
				if strings.Contains(story, "lost") {
					r.records.Lose()
				}
				r.status(forge)
				rounds(4)
			}
			if n := len(r.vcenter.VMs()); n > 5 {
				t.Errorf("%d VMs at a quota of 5", n)
			}
		})
	}
}

func TestAGroupWhoseRecordIsLostIsHeldAtWhatExistsUntilAPersonAccepts(t *testing.T) {
	r := newRig(t)
	r.setPolicy(maxCPU(16))
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = 16 })
	r.settle()
	r.records.Lose()
	r.setPolicy(maxCPU(4))
	g := r.work()
	says(t, g, v1alpha1.ConditionReady, "True", v1alpha1.ReasonAllVMsReady)
	shown := *g.Status.Admitted
	r.vcenter.ByHand().Delete("web-1")
	before := r.clones()
	g = r.work()
	message := says(t, g, v1alpha1.ConditionPolicyCompliant, "False", v1alpha1.ReasonPolicyViolated)
	for _, want := range []string{"held at what exists", "2 VMs with cpu 16", "kubectl annotate membercluster local", v1alpha1.AcceptAdmittedAnnotation} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	for _, until := range []time.Time{{}, r.now.Add(-time.Second), r.now.Add(2 * time.Hour)} {
		r.accept(until)
		if r.work(); r.clones() != before || len(r.vcenter.VMs()) != 1 {
			t.Fatalf("%d clones, %d VMs with an acceptance until %s; want the VM that is left", r.clones()-before, len(r.vcenter.VMs()), until)
		}
	}
	if got := r.group().Status.Admitted; got == nil || *got != shown {
		t.Errorf("status shows %+v as admitted, which a person could accept; it was %+v", got, shown)
	}
	r.accept(r.now.Add(10 * time.Minute))
	r.work()
	r.accept(time.Time{})
	if vm := r.vm("web-1"); vm == nil || vm.CPU != 16 {
		t.Errorf("the lost VM did not come back as it was: %+v", vm)
	}
	r.vcenter.ByHand().Delete("web-0")
	if r.work(); r.vm("web-0") == nil {
		t.Error("what was accepted is not on record")
	}
}

func TestAGroupThatPolicyAllowsGetsALostRecordAnew(t *testing.T) {
	r := newRig(t)
	r.settle()
	puts := r.records.Puts()
	if r.work(); r.records.Puts() != puts {
		t.Errorf("%d writes to the hub about nothing", r.records.Puts()-puts)
	}
	r.records.Lose()
	if r.work(); r.records.Puts() != puts+1 {
		t.Errorf("a lost record was written %d times", r.records.Puts()-puts)
	}
}

func TestNothingIsClonedThatIsNotOnRecord(t *testing.T) {
	r := newRig(t)
	gone := errors.New("the hub is unreachable")
	r.records.OnPut = func(admitted.Key, admitted.Entry) error { return gone }
	for range 4 {
		if _, err := r.pass(); err == nil {
			continue
		} else if !errors.Is(err, gone) {
			t.Fatal(err)
		}
	}
	if r.clones() != 0 || r.group().Status.Admitted != nil {
		t.Errorf("%d clones, status shows %+v as admitted, and nothing is on record", r.clones(), r.group().Status.Admitted)
	}
	r.records.OnPut = func(_ admitted.Key, e admitted.Entry) error {
		if r.clones() > 0 || r.group().Status.Admitted != nil {
			t.Errorf("there were %d clones before the record", r.clones())
		}
		if e.Namespace != "team" || e.Name != "web" || e.Admitted.Replicas != 2 {
			t.Errorf("the record is %+v", e)
		}
		return nil
	}
	r.settle()
}

func TestAGroupForWhoseRecordThereIsNoRoomIsServed(t *testing.T) {
	r := newRig(t)
	r.records.OnPut = func(admitted.Key, admitted.Entry) error { return admitted.ErrFull }
	r.settle()
}

func TestARecordFromABackupGivesNoMoreThanStatusShows(t *testing.T) {
	r := newRig(t)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
	r.settle()
	key := admitted.KeyOf(r.key())
	backup, _, _ := r.records.Of(key)
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 1 })
	r.settle()
	if _, err := r.records.Put(t.Context(), key, backup); err != nil {
		t.Fatal(err)
	}
	r.setPolicy(v1alpha1.VmGroupPolicySpec{Limits: &v1alpha1.PolicyLimits{Replicas: &v1alpha1.CountRange{Max: new(int32(1))}}})
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 4 })
	r.rounds(4)
	if n := len(r.vcenter.VMs()); n != 1 {
		t.Errorf("%d VMs; 1 was admitted last", n)
	}
}

func TestAWipedStatusIsMadeAnewFromTheRecord(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.setPolicy(onlyTemplates("nothing"))
	r.status(func(s *v1alpha1.VmGroupStatus) { *s = v1alpha1.VmGroupStatus{} })
	r.vcenter.ByHand().Delete("web-1")
	g := r.work()
	if r.vm("web-1") == nil || g.Status.Admitted == nil || g.Status.Admitted.Replicas != 2 {
		t.Errorf("the lost VM is %v, status shows %+v", r.vm("web-1"), g.Status.Admitted)
	}
}

func TestTheRecordGoesWithTheGroup(t *testing.T) {
	r := newRig(t)
	r.settle()
	key := admitted.KeyOf(r.key())
	if err := r.member.Delete(t.Context(), r.group()); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		r.mustPass()
		r.vcenter.Finish(-1)
		r.vcenter.Confirm()
		r.now = r.now.Add(2 * time.Second)
	}
	if e, found, _ := r.records.Of(key); found {
		t.Errorf("%+v is on record", e)
	}
}

func TestNothingIsDoneBeforeTheRecordsAreRead(t *testing.T) {
	r := newRig(t)
	r.records.Unread = admitted.ErrUnread
	if result := r.mustPass(); result.RequeueAfter != unreadInterval || r.clones() != 0 {
		t.Errorf("looks again after %s, with %d clones", result.RequeueAfter, r.clones())
	}
	r.records.Unread = errors.New(`ConfigMap "x" has format "2"`)
	g := r.work()
	if message := says(t, g, v1alpha1.ConditionPolicyCompliant, "Unknown", v1alpha1.ReasonPolicyUnavailable); !strings.Contains(message, `ConfigMap "x" has format "2"`) || r.clones() != 0 {
		t.Errorf("%d clones: %s", r.clones(), message)
	}
	r.records.Unread = nil
	r.settle()
}
