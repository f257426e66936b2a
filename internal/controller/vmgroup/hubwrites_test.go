package vmgroup

import (
	"strings"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/admitted"
	"github.com/codeconnect/vmgroup-operator/internal/controller/vmgroup/effect"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/writebudget"
)

// puts records each written record.
func (r *rig) puts() *[]v1alpha1.Admitted {
	var puts []v1alpha1.Admitted
	r.records.OnPut = func(_ admitted.Key, e admitted.Entry) error {
		puts = append(puts, *e.Admitted.DeepCopy())
		return nil
	}
	return &puts
}

func TestEditsOfAPausedGroupWriteNothingOnTheHub(t *testing.T) {
	r := newRig(t)
	r.settle()
	before := *r.group().Status.Admitted
	puts := r.puts()
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Paused = true })
	for range 50 {
		r.edit(func(s *v1alpha1.VmGroupSpec) { s.CPU = s.CPU%4 + 1 })
		r.mustPass()
		r.now = r.now.Add(time.Second)
	}
	// Status follows these edits within ten seconds.
	r.now = r.now.Add(9 * time.Second)
	r.mustPass()
	if g := r.group(); len(*puts) != 0 || *g.Status.Admitted != before || g.Status.ObservedGeneration != g.Generation {
		t.Fatalf("%d records were written, status shows %+v of generation %d", len(*puts), g.Status.Admitted, g.Status.ObservedGeneration)
	}
	r.edit(func(s *v1alpha1.VmGroupSpec) { s.Paused = false })
	r.mustPass()
	if g := r.group(); len(*puts) != 1 || g.Status.Admitted.CPU != (before.CPU+49)%4+1 {
		t.Errorf("once it is resumed %d records were written, status shows %+v", len(*puts), g.Status.Admitted)
	}
}

// TestAGroupThatIsEditedInALoopIsRecordedNowAndThen: its first edits are recorded at once, later ones together, and the last one in the end.
func TestAGroupThatIsEditedInALoopIsRecordedNowAndThen(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.now = r.now.Add(time.Hour)
	puts := r.puts()
	for edits := range 121 {
		r.edit(func(s *v1alpha1.VmGroupSpec) {
			s.UpdateStrategy, s.CPU = &v1alpha1.UpdateStrategy{Paused: true}, s.CPU%4+1
		})
		r.mustPass()
		if g := r.group(); edits < effect.RecordsAtOnce && len(*puts) != edits+1 {
			t.Errorf("edit %d waits: %d records were written", edits, len(*puts))
		} else if last := (*puts)[len(*puts)-1]; *g.Status.Admitted != last {
			t.Fatalf("status shows %+v, and %+v is on record", g.Status.Admitted, last)
		}
		r.now = r.now.Add(500 * time.Millisecond)
	}
	if n := len(*puts); n > effect.RecordsAtOnce+6 {
		t.Errorf("%d records were written for edits in one minute", n)
	}
	want := r.group().Spec.CPU
	for range 4 {
		if after := r.mustPass().RequeueAfter; after > 0 {
			r.now = r.now.Add(after)
		}
	}
	if last := (*puts)[len(*puts)-1]; last.CPU != want || r.group().Status.Admitted.CPU != want {
		t.Errorf("the last edit is not on record: %+v", last)
	}
}

// TestAGroupWhoseRecordWaitsForTheBudgetSaysSoAndIsServedInTheEnd: the pass ends, and takes no worker.
func TestAGroupWhoseRecordWaitsForTheBudgetSaysSoAndIsServedInTheEnd(t *testing.T) {
	r := newRig(t)
	r.settle()
	r.HubWrites.Spend("member-uid", writebudget.Record, writebudget.Default.Burst+20*writebudget.Default.Rate)
	puts := r.puts()
	r.edit(func(s *v1alpha1.VmGroupSpec) { *s.Replicas = 3 })
	calls := len(r.vcenter.Calls(vsphere.OpClone))
	for began := r.now; r.now.Sub(began) < 15*time.Second; {
		after := r.mustPass().RequeueAfter
		if after <= 0 || after > 10*time.Second {
			t.Fatalf("the group is enqueued again after %s", after)
		}
		r.now = r.now.Add(after)
	}
	message := says(t, r.group(), v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonHubWriteDelayed)
	if !strings.Contains(message, "limited") || len(*puts) > 0 || r.group().Status.Admitted.Replicas != 2 || len(r.vcenter.Calls(vsphere.OpClone)) != calls {
		t.Errorf("%d records, status shows %+v, and says %s", len(*puts), r.group().Status.Admitted, message)
	}
	for len(*puts) == 0 {
		r.now = r.now.Add(r.mustPass().RequeueAfter)
	}
	r.settle()
	if len(r.vcenter.VMs()) != 3 {
		t.Errorf("%d VMs", len(r.vcenter.VMs()))
	}
}

// TestAReleasedGroupWhoseReceiptWaitsForTheBudgetStaysAndSaysSo: a receipt is never dropped.
func TestAReleasedGroupWhoseReceiptWaitsForTheBudgetStaysAndSaysSo(t *testing.T) {
	r := newRig(t)
	r.settle()
	key := r.key()
	r.annotate(v1alpha1.ReleaseAnnotation, string(r.group().UID))
	r.delete()
	r.HubWrites.Spend("member-uid", writebudget.Record, writebudget.Default.Burst+20*writebudget.Default.Rate)
	if after := r.mustPass().RequeueAfter; after <= 0 || after > 10*time.Second || r.receipt(key) != nil {
		t.Fatalf("the group is enqueued again after %s, the receipt is %+v", after, r.receipt(key))
	}
	message := says(t, r.group(), v1alpha1.ConditionReady, "Unknown", v1alpha1.ReasonHubWriteDelayed)
	if !strings.Contains(message, "receipt") {
		t.Errorf("it says %s", message)
	}
	for passes := 0; r.receipt(key) == nil; passes++ {
		if passes > 20 {
			t.Fatal("the receipt is never written")
		}
		r.now = r.now.Add(r.mustPass().RequeueAfter)
	}
	if !r.gone() {
		t.Error("the group stays, though there is a receipt")
	}
}
