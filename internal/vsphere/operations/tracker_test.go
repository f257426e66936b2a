package operations

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
)

type clock struct{ t time.Time }

func (c *clock) now() time.Time          { return c.t }
func (c *clock) advance(d time.Duration) { c.t = c.t.Add(d) }

type rig struct {
	*Tracker
	t     *testing.T
	clock *clock
	told  int
	done  []bool
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, clock: &clock{time.Unix(1000, 0)}}
	r.Tracker = New(r.clock.now, r)
	t.Cleanup(func() {
		tasks := map[string]*operation{}
		for op := range r.all {
			if op.state == running {
				tasks[op.task] = op
			}
		}
		if !maps.Equal(r.tasks, tasks) {
			t.Errorf("%d tasks are kept, and %d operations run", len(r.tasks), len(tasks))
		}
	})
	return r
}

// GroupChanged implements vsphere.GroupNotifier.
func (r *rig) GroupChanged(group vsphere.GroupKey) {
	if group == "g" {
		r.told++
	}
}

// guestTime is the time limit of a guest's shutdown.
const guestTime = time.Hour

func request(kind vsphere.OperationKind, ordinal int32) Request {
	r := Request{Key: Key{"g", ordinal}, Kind: kind, Name: "vg", Stamp: vsphere.Stamp{Revision: "r1"}, Within: guestTime}
	if kind != vsphere.OpClone {
		r.VM = vsphere.VMRef("vm-1")
	}
	return r
}

func (r *rig) begin(kind vsphere.OperationKind, ordinal int32) *Handle {
	r.t.Helper()
	h, err := r.Begin(request(kind, ordinal))
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

func (r *rig) onDone(ok bool) { r.done = append(r.done, ok) }

func (r *rig) inFlight(n int) {
	r.t.Helper()
	if got := r.InFlight("g"); len(got) != n {
		r.t.Fatalf("in flight: %+v, want %d", got, n)
	}
}

func unseen(Effect) Sight { return Unseen }
func seen(Effect) Sight   { return Seen }
func held(Effect) Sight   { return Held }
func astray(Effect) Sight { return Astray }

func TestOneOperationPerOrdinal(t *testing.T) {
	r := newRig(t)
	h := r.begin(vsphere.OpClone, 0)
	if _, err := r.Begin(request(vsphere.OpPowerOn, 0)); vsphere.KindOf(err) != vsphere.KindBusy {
		t.Fatalf("a second operation: %v", err)
	}
	r.begin(vsphere.OpClone, 1)
	h.Withdraw()
	r.begin(vsphere.OpPowerOn, 0)
	r.inFlight(2)
}

func TestALateReportOfAReplacedOperationChangesNothing(t *testing.T) {
	r := newRig(t)
	shutdown := r.begin(vsphere.OpShutdownGuest, 0)
	shutdown.Finished(3)
	off := r.begin(vsphere.OpPowerOff, 0)
	off.Accepted("task-2", r.onDone)
	told := r.told
	for _, late := range []func(){
		func() { shutdown.Failed(errors.New("late")) },
		func() { shutdown.Accepted("task-1", r.onDone) },
		func() { shutdown.Finished(9) },
		func() { shutdown.Unknown(r.onDone) },
		shutdown.Withdraw,
		func() { r.Succeeded("task-1", vsphere.Ref{}, 9) },
	} {
		late()
		if ops := r.InFlight("g"); len(ops) != 1 || ops[0].Kind != vsphere.OpPowerOff || len(r.Failures("g")) != 0 {
			t.Fatalf("in flight: %+v, failed: %+v; want the power-off alone", ops, r.Failures("g"))
		}
		if tasks := r.Tasks(); len(tasks) != 1 || tasks[0].Ref != "task-2" || r.told != told {
			t.Fatalf("watched: %+v, notified %d times; want the task of the power-off, and no notification", tasks, r.told-told)
		}
	}
	r.Succeeded("task-2", vsphere.Ref{}, 9)
	if len(r.done) != 1 {
		t.Errorf("%d ends were reported, want the power-off's", len(r.done))
	}
}

func TestSuccessSettlesWhenItsEffectShows(t *testing.T) {
	r := newRig(t)
	h := r.begin(vsphere.OpClone, 0)
	r.Settle(100, seen) // not submitted yet: no effect can show
	r.inFlight(1)
	h.Accepted("task-1", r.onDone)
	r.Settle(100, seen) // running
	r.inFlight(1)
	if tasks := r.Tasks(); len(tasks) != 1 || tasks[0].Ref != "task-1" || !r.Tracks("task-1") {
		t.Fatalf("tasks: %v", tasks)
	}
	r.Succeeded("task-1", vsphere.VMRef("vm-9"), 101)
	if len(r.done) != 1 || !r.done[0] || len(r.Tasks()) != 0 {
		t.Fatalf("done: %v", r.done)
	}
	if op := r.InFlight("g")[0]; op.VM.Value != "vm-9" || op.OutcomeUnknown {
		t.Errorf("operation: %+v", op)
	}
	r.Settle(101, unseen) // that listing began too early
	r.inFlight(1)
	told := r.told
	r.Settle(101, seen)
	r.inFlight(0)
	if r.told == told {
		t.Error("the group was not notified")
	}
}

func TestSuccessSettlesWithALaterListing(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpPowerOn, 0).Accepted("task-1", r.onDone)
	r.Succeeded("task-1", vsphere.Ref{}, 10)
	r.Settle(0, unseen)
	r.inFlight(1)
	if !r.WantsListing(10) {
		t.Error("wants no listing")
	}
	r.Settle(11, unseen)
	r.inFlight(0)
	if len(r.done) != 1 {
		t.Errorf("done was called %d times", len(r.done))
	}
}

func TestUnknownNeedsTasksAndThenAListing(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpClone, 0).Unknown(r.onDone)
	if !r.InFlight("g")[0].OutcomeUnknown {
		t.Fatal("the outcome is known")
	}
	r.Settle(1000, unseen) // a listing alone proves nothing: the clone can still run
	r.inFlight(1)
	if needed, in := r.NeedsScan(); !needed || in != slotGrace {
		t.Fatalf("scan: %v in %v", needed, in)
	}
	r.Scanned(10, nil) // too early: the request can be in flight
	r.Settle(1000, unseen)
	r.inFlight(1)
	r.clock.advance(r.Grace)
	if needed, in := r.NeedsScan(); !needed || in != 0 {
		t.Fatalf("scan: %v in %v", needed, in)
	}
	r.Scanned(20, []Untracked{{Ref: "task-7", Clone: true}, {Ref: "task-8", Entity: vsphere.VMRef("vm-4")}})
	if needed, _ := r.NeedsScan(); needed {
		t.Error("scanned, and yet a scan is needed")
	}
	if tasks := r.Tasks(); len(tasks) != 1 || tasks[0].Ref != "task-7" {
		t.Fatalf("tasks to watch: %v", tasks)
	}
	r.Settle(1000, unseen)
	r.inFlight(1)
	r.Succeeded("task-7", vsphere.VMRef("vm-9"), 1001)
	r.Settle(1001, unseen)
	r.inFlight(1)
	r.Settle(1002, unseen)
	r.inFlight(0)
	if len(r.done) != 1 {
		t.Errorf("done was called %d times", len(r.done))
	}
}

func TestUnknownSettlesWhenItsEffectShows(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpClone, 0).Unknown(r.onDone)
	r.Settle(1, func(e Effect) Sight {
		if e.Unknown {
			return Seen
		}
		return Unseen
	})
	r.inFlight(0)
}

func TestALostTaskIsUnknown(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpDestroy, 0).Accepted("task-1", r.onDone)
	r.TaskLost("task-1", 5)
	if !r.InFlight("g")[0].OutcomeUnknown || len(r.done) != 1 || r.done[0] {
		t.Errorf("in flight %+v, done %v", r.InFlight("g"), r.done)
	}
}

func TestWhatLandedIsToldOfRunningTasksOnly(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpClone, 0).Accepted("task-clone", r.onDone)
	r.begin(vsphere.OpPowerOn, 1).Accepted("task-on", r.onDone)
	r.begin(vsphere.OpPowerOff, 2).Accepted("task-ended", r.onDone)
	r.Succeeded("task-ended", vsphere.Ref{}, 1)
	r.begin(vsphere.OpDestroy, 3) // its request is in flight
	sight := Unseen
	look := func(Effect) Sight { return sight }
	if landed := r.Landed(look); len(landed) != 0 {
		t.Errorf("nothing can be seen, but landed: %v", landed)
	}
	sight = Seen
	landed := map[string]vsphere.OperationKind{}
	for _, task := range r.Landed(look) {
		landed[task.Ref] = task.Kind
	}
	if !maps.Equal(landed, map[string]vsphere.OperationKind{"task-clone": vsphere.OpClone, "task-on": vsphere.OpPowerOn}) {
		t.Errorf("landed: %v", landed)
	}
}

func TestFailures(t *testing.T) {
	r := newRig(t)
	transient := &vsphere.Error{Kind: vsphere.KindTransient}
	for i := 1; i <= 3; i++ {
		r.begin(vsphere.OpClone, 0).Accepted("task", r.onDone)
		r.TaskFailed("task", transient, 5)
		f := r.Failures("g")
		if len(f) != 1 || f[0].Count != i || f[0].Revision != "r1" || f[0].RetryAt.Sub(f[0].At) != 2*time.Second<<(i-1) {
			t.Fatalf("failure %d: %+v", i, f)
		}
	}
	r.inFlight(0)
	other := request(vsphere.OpClone, 0)
	other.Stamp.Revision = "r2"
	h, err := r.Begin(other)
	if err != nil {
		t.Fatal(err)
	}
	h.Failed(transient)
	if f := r.Failures("g")[0]; f.Count != 1 {
		t.Errorf("another revision starts over: %+v", f)
	}
	r.begin(vsphere.OpClone, 0).Accepted("task", r.onDone)
	r.Succeeded("task", vsphere.VMRef("vm-1"), 6)
	if f := r.Failures("g"); len(f) != 0 {
		t.Errorf("success did not clear %+v", f)
	}
}

// TestWhatAVMCouldNotBeChangedToStaysKnownWhenItIsStartedAgain: otherwise the VM would be stopped
// for the same change again.
func TestWhatAVMCouldNotBeChangedToStaysKnownWhenItIsStartedAgain(t *testing.T) {
	r := newRig(t)
	done := func(kind vsphere.OperationKind, at Mark) {
		r.begin(kind, 0).Accepted("task", r.onDone)
		r.Succeeded("task", vsphere.Ref{}, at)
		r.Settle(at+1, seen)
	}
	r.begin(vsphere.OpReconfigure, 0).Failed(&vsphere.Error{Kind: vsphere.KindPermission})
	done(vsphere.OpPowerOn, 5)
	if f := r.Failures("g"); len(f) != 1 || f[0].Kind != vsphere.OpReconfigure {
		t.Fatalf("failures are %+v", f)
	}
	done(vsphere.OpReconfigure, 7)
	if f := r.Failures("g"); len(f) != 0 {
		t.Errorf("failures are %+v", f)
	}
	r.begin(vsphere.OpReconfigure, 0).Failed(&vsphere.Error{Kind: vsphere.KindPermission})
	done(vsphere.OpClone, 9) // another VM has its ordinal
	if f := r.Failures("g"); len(f) != 0 {
		t.Errorf("failures are %+v", f)
	}
}

func TestShutdown(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpShutdownGuest, 0).Finished(3)
	r.Settle(100, unseen) // no listing settles it: the guest is still shutting down
	r.inFlight(1)
	if _, err := r.Begin(request(vsphere.OpShutdownGuest, 0)); vsphere.KindOf(err) != vsphere.KindBusy {
		t.Fatalf("second shutdown: %v", err)
	}
	for _, kind := range []vsphere.OperationKind{vsphere.OpPowerOn, vsphere.OpPowerOff, vsphere.OpMark, vsphere.OpReconfigure} {
		r.begin(kind, 0).Withdraw() // overtakes
		r.inFlight(0)
		r.begin(vsphere.OpShutdownGuest, 0).Finished(3)
	}
	r.clock.advance(guestTime - 1)
	r.Settle(100, unseen)
	r.inFlight(1)
	r.clock.advance(1)
	r.Settle(100, unseen)
	r.inFlight(0)
	if f := r.Failures("g"); len(f) != 1 || f[0].Kind != vsphere.OpShutdownGuest {
		t.Errorf("failures: %+v", f)
	}
}

func TestBackoff(t *testing.T) {
	for _, test := range []struct {
		kind  vsphere.Kind
		count int
		want  time.Duration
	}{
		{vsphere.KindTransient, 1, 2 * time.Second},
		{vsphere.KindTransient, 100, 2 * time.Minute},
		{vsphere.KindBusy, 2, 4 * time.Second},
		{vsphere.KindBusy, 9, 30 * time.Second},
		{vsphere.KindCapacity, 1, 30 * time.Second},
		{vsphere.KindPermission, 2, 2 * time.Minute},
		{vsphere.Kind("new"), 1, 2 * time.Second},
	} {
		if got := Backoff(test.kind, test.count); got != test.want {
			t.Errorf("%s, %d: %v, want %v", test.kind, test.count, got, test.want)
		}
	}
}

func TestATaskThatHangsIsOvertakenByWhatEndsTheVM(t *testing.T) {
	for _, c := range []struct {
		hangs, next vsphere.OperationKind
		overtaken   bool
	}{
		{vsphere.OpPowerOn, vsphere.OpMark, true},
		{vsphere.OpPowerOn, vsphere.OpPowerOff, true},
		{vsphere.OpPowerOn, vsphere.OpRelease, true},
		{vsphere.OpPowerOn, vsphere.OpPowerOn, false},
		{vsphere.OpPowerOn, vsphere.OpReconfigure, false},
		{vsphere.OpReconfigure, vsphere.OpMark, true},
		{vsphere.OpMark, vsphere.OpMark, true},
		{vsphere.OpRestamp, vsphere.OpMark, true},
		{vsphere.OpPowerOff, vsphere.OpDestroy, true},
		{vsphere.OpDestroy, vsphere.OpDestroy, false},
		{vsphere.OpClone, vsphere.OpMark, false},
	} {
		r := newRig(t)
		r.begin(c.hangs, 0).Accepted("task-77", r.onDone)
		if _, err := r.Begin(request(c.next, 0)); vsphere.KindOf(err) != vsphere.KindBusy {
			t.Errorf("%s overtakes %s at once: %v", c.next, c.hangs, err)
		}
		r.clock.advance(vsphere.HangsAfter)
		if op := r.InFlight("g")[0]; op.Task != "task-77" || !op.Hangs(r.clock.now()) {
			t.Errorf("%s is shown as %+v", c.hangs, op)
		}
		_, err := r.Begin(request(c.next, 0))
		if (err == nil) != c.overtaken || (len(r.done) == 1) != c.overtaken {
			t.Errorf("%s after %s: %v, slots freed: %v", c.next, c.hangs, err, r.done)
		}
		r.Succeeded("task-77", vsphere.Ref{}, 5) // the slot is not awaited twice
		if len(r.done) != 1 {
			t.Errorf("%s after %s: slots freed: %v", c.next, c.hangs, r.done)
		}
	}
}

// The reply to a power-on is lost, and vCenter runs the task, which hangs. It is named and
// overtaken like one whose reply arrived.
func TestATaskThatHangsIsNamedThoughTheReplyWasLost(t *testing.T) {
	r := newRig(t)
	r.begin(vsphere.OpPowerOn, 0).Unknown(r.onDone)
	r.clock.advance(r.Grace)
	r.Scanned(20, []Untracked{{Ref: "task-77", Entity: vsphere.VMRef("vm-1"), Own: true}, {Ref: "task-78", Entity: vsphere.VMRef("vm-2"), Own: true}})
	r.Settle(1000, unseen)
	if _, err := r.Begin(request(vsphere.OpMark, 0)); vsphere.KindOf(err) != vsphere.KindBusy {
		t.Errorf("it is overtaken at once: %v", err)
	}
	r.clock.advance(vsphere.HangsAfter)
	r.Settle(2000, unseen)
	if ops := r.InFlight("g"); len(ops) != 1 || ops[0].Task != "task-77" || !ops[0].Hangs(r.clock.now()) {
		t.Fatalf("in flight %+v", ops)
	}
	if _, err := r.Begin(request(vsphere.OpMark, 0)); err != nil || len(r.done) != 1 {
		t.Errorf("it holds the end of its VM: %v, slots freed: %v", err, r.done)
	}
	r.Succeeded("task-77", vsphere.Ref{}, 2001)
	if len(r.done) != 1 {
		t.Errorf("slots freed: %v", r.done)
	}
}

func TestACloneThatRunsIsFoundAndItsCancellationRemembered(t *testing.T) {
	r := newRig(t)
	key := Key{"g", 0}
	h := r.begin(vsphere.OpClone, 0)
	if _, _, ok := r.RunningClone(key); ok {
		t.Error("a clone that was not accepted yet runs")
	}
	h.Accepted("task-1", r.onDone)
	r.begin(vsphere.OpPowerOn, 1).Accepted("task-2", r.onDone)
	if op, task, ok := r.RunningClone(key); !ok || task != "task-1" || op.Kind != vsphere.OpClone {
		t.Errorf("it is %s of %+v", task, op)
	}
	if _, _, ok := r.RunningClone(Key{"g", 1}); ok {
		t.Error("a power-on is a clone")
	}
	refused := errors.New("no")
	r.Canceled("task-1", refused)
	if op := r.InFlight("g")[0]; !op.CanceledAt.Equal(r.clock.t) || !errors.Is(op.CancelErr, refused) {
		t.Errorf("it says %+v", op)
	}
	r.clock.advance(time.Minute)
	r.Canceled("task-1", nil)
	if op := r.InFlight("g")[0]; !op.CanceledAt.Equal(r.clock.t) || op.CancelErr != nil {
		t.Errorf("it says %+v", op)
	}
	r.Canceled("task-9", refused)
	r.Succeeded("task-1", vsphere.VMRef("vm-1"), 1)
	if op := r.InFlight("g")[0]; !op.CanceledAt.IsZero() {
		t.Errorf("a task that has ended is canceled: %+v", op)
	}
}
