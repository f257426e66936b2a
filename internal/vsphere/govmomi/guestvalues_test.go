package govmomi

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

const readyKey = "guestinfo.ready"

// waiting is a group with powered-on VMs, and a clock.
type waiting struct {
	t      *testing.T
	values guestValues
	now    time.Time
	query  vsphere.Query
	vms    []vsphere.VM
}

func newWaiting(t *testing.T, vms ...string) *waiting {
	id := vsphere.GroupID{Installation: "inst-1", Member: "member-1", Group: "group-1"}
	w := &waiting{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), query: vsphere.Query{ID: id, GuestInfo: vsphere.GuestInfoQuery{Key: readyKey, Value: "true"}}}
	for _, value := range vms {
		w.vms = append(w.vms, vsphere.VM{Ref: vsphere.VMRef(value), Power: vsphere.PoweredOn, BootTime: w.now, Stamp: &vsphere.Stamp{GroupID: id}})
	}
	return w
}

func (w *waiting) observe() (vms []vsphere.VM, news bool) {
	vms = slices.Clone(w.vms)
	news = w.values.observe(w.now, w.query, vms)
	return vms, news
}

// passes advances time to the next read, and returns the duration and the VMs read.
func (w *waiting) passes() (time.Duration, map[string][]vsphere.Ref) {
	in, waits := w.values.next(w.now)
	if !waits {
		return 0, nil
	}
	w.now = w.now.Add(in)
	return in, w.values.take(w.now, func(vsphere.Ref, vsphere.GroupKey) bool { return true })
}

func (w *waiting) found(i int, value string) vsphere.GroupKey {
	return w.values.found(w.vms[i].Ref, w.vms[i].BootTime, readyKey, value)
}

func TestAGuestIsReadUntilItSaysWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWaiting(t, "vm-1", "vm-2")
	vms, news := w.observe()
	if !news || vms[0].GuestInfoKnown {
		t.Fatalf("at first there is news: %v, and %+v", news, vms[0])
	}
	if in, reads := w.passes(); in != guestFirst || len(reads[readyKey]) != 2 {
		t.Errorf("first %v are read after %v, want both VMs together", reads, in)
	}
	if group := w.found(0, ""); group != w.query.ID.Key() {
		t.Errorf("%q is notified that a value is known", group)
	}
	if group := w.found(0, ""); group != "" {
		t.Error("the group is notified of the same value again")
	}
	vms, news = w.observe()
	if news || !vms[0].GuestInfoKnown || vms[0].GuestInfo != "" || vms[1].GuestInfoKnown {
		t.Errorf("then there is news: %v, and %+v", news, vms)
	}
	w.found(0, "true")
	w.found(1, "failed")
	if vms, _ = w.observe(); vms[0].GuestInfo != "true" || vms[1].GuestInfo != "failed" {
		t.Errorf("observed %+v", vms)
	}
	if _, reads := w.passes(); !slices.Equal(reads[readyKey], []vsphere.Ref{w.vms[1].Ref}) {
		t.Errorf("%v are read, want the VM that is waited for", reads)
	}
	w.found(1, "true")
	if _, news := w.observe(); news {
		t.Error("there is something to read")
	}
	if in, reads := w.passes(); reads != nil {
		t.Errorf("after %v, %v are read, want none", in, reads)
	}
}

func TestAGuestIsReadLessOftenTheLongerItIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWaiting(t, "vm-1")
	w.observe()
	w.passes()
	began, reads, last := w.now, 0, time.Duration(0)
	for w.now.Sub(began) < 10*time.Minute {
		in, _ := w.passes()
		if in < last || in < guestLeast || in > guestMost {
			t.Fatalf("a pause of %v after one of %v", in, last)
		}
		last = in
		reads++
	}
	if reads < 15 || reads > 40 {
		t.Errorf("%d reads in ten minutes", reads)
	}
}

func TestAGuestThatTellsSomethingElseIsReadSoon(t *testing.T) {
	t.Parallel()
	w := newWaiting(t, "vm-1")
	w.observe()
	for range 20 {
		w.passes()
	}
	w.found(0, "")
	w.vms[0].ToolsRunning = true
	if _, news := w.observe(); !news {
		t.Error("VMware Tools run, and there is nothing to read")
	}
	if in, _ := w.passes(); in != guestLeast {
		t.Errorf("it is read after %v", in)
	}
	if in, _ := w.passes(); in <= guestLeast {
		t.Errorf("and again after %v", in)
	}
}

func TestWhatAGuestHasWrittenIsOfOneLifeOfItsVM(t *testing.T) {
	t.Parallel()
	ready := func() *waiting {
		w := newWaiting(t, "vm-1")
		w.observe()
		w.passes()
		w.found(0, "true")
		if vms, _ := w.observe(); vms[0].GuestInfo != "true" {
			t.Fatalf("observed %+v", vms)
		}
		return w
	}
	for name, change := range map[string]func(*waiting){
		"powered on anew": func(w *waiting) { w.vms[0].BootTime = w.now.Add(time.Hour) },
		"off, and on without boot times": func(w *waiting) {
			w.vms[0].Power = vsphere.PoweredOff
			if vms, _ := w.observe(); vms[0].GuestInfo != "" || !vms[0].GuestInfoKnown {
				t.Errorf("off, it says %+v", vms[0])
			}
			w.vms[0].Power = vsphere.PoweredOn
		},
		"another key": func(w *waiting) { w.query.GuestInfo.Key = "guestinfo.other" },
		"forgotten":   func(w *waiting) { w.values.forget(w.query.ID.Key()) },
		"not asked for meanwhile": func(w *waiting) {
			asks := w.query.GuestInfo
			w.query.GuestInfo = vsphere.GuestInfoQuery{}
			w.observe()
			w.query.GuestInfo = asks
		},
		"another group's": func(w *waiting) { w.vms[0].Stamp = &vsphere.Stamp{}; w.observe() },
	} {
		w := ready()
		before := w.vms[0]
		change(w)
		if vms, _ := w.observe(); vms[0].GuestInfo != "" || vms[0].GuestInfoKnown {
			t.Errorf("%s: observed %+v", name, vms[0])
		}
		if name == "powered on anew" && w.values.found(before.Ref, before.BootTime, readyKey, "true") != "" {
			t.Error("a read of an earlier life counts")
		}
	}
	w := ready()
	w.query.GuestInfo.Value = "other"
	if vms, news := w.observe(); vms[0].GuestInfo != "true" || !news {
		t.Errorf("when another value is waited for it says %+v, news: %v", vms[0], news)
	}
	w.query.GuestInfo.Value = ""
	if _, news := w.observe(); news {
		t.Error("any value is waited for, and there is something to read")
	}
}

// TestWhatWasReadBeforeAnOutageIsReadAnew: a guest can have written an awaited value during the
// outage. Values that are no longer awaited cost no call.
func TestWhatWasReadBeforeAnOutageIsReadAnew(t *testing.T) {
	t.Parallel()
	w := newWaiting(t, "vm-1", "vm-2")
	w.observe()
	w.passes()
	w.found(0, "")
	w.found(1, "true")
	w.now = w.now.Add(20 * time.Minute)
	w.values.reread()
	vms, news := w.observe()
	if !news || vms[0].GuestInfoKnown || vms[1].GuestInfo != "true" {
		t.Errorf("after the outage there is news: %v, and %+v", news, vms)
	}
	if in, reads := w.passes(); in != 0 || !slices.Equal(reads[readyKey], []vsphere.Ref{w.vms[0].Ref}) {
		t.Errorf("%v are read after %v", reads, in)
	}
	if group := w.found(0, ""); group != w.query.ID.Key() {
		t.Error("the group is not notified that the value is known to be still empty")
	}
	if vms, _ := w.observe(); !vms[0].GuestInfoKnown {
		t.Errorf("then %+v", vms[0])
	}
}

func TestGuestsOfGroupsThatAreNotOursAnyMoreAreForgotten(t *testing.T) {
	t.Parallel()
	w := newWaiting(t, "vm-1", "vm-2")
	w.observe()
	w.now = w.now.Add(time.Minute)
	if reads := w.values.take(w.now, func(ref vsphere.Ref, _ vsphere.GroupKey) bool { return ref.Value == "vm-2" }); len(reads[readyKey]) != 1 {
		t.Errorf("%v are read", reads)
	}
	if left := slices.Collect(maps.Keys(w.values.vms)); !slices.Equal(left, []vsphere.Ref{vsphere.VMRef("vm-2")}) {
		t.Errorf("%v are remembered", left)
	}
	long := strings.Repeat("a", 2*vsphere.LongestGuestInfo)
	w.found(1, long)
	vms, _ := w.observe()
	if len(vms[1].GuestInfo) != vsphere.LongestGuestInfo {
		t.Errorf("%d bytes are kept", len(vms[1].GuestInfo))
	}
	if unsafe.StringData(vms[1].GuestInfo) == unsafe.StringData(long) { //nolint:gosec // whether two texts are one piece of memory is what is tested
		t.Error("what is cut off is kept in memory, as long as the VM lives")
	}
}
