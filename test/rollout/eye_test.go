//go:build unix && slow

package rollout

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/test/harness/await"
)

// lookEvery is the interval of the eye's observations.
const lookEvery = 50 * time.Millisecond

// bounds are the minimum number of available VMs of a group at any time, and the maximum number of all VMs, including
// those that leave.
type bounds struct{ available, existing int }

// seen is the number of available VMs in an observation.
type seen struct {
	at        time.Time
	available int
}

// eye observes a group's folder in vCenter continuously.
type eye struct {
	t      *testing.T
	folder types.ManagedObjectReference
	// granted, if set, returns the current number of VMs that the ledger of quotas grants.
	granted func(context.Context) (int, error)
	end     context.CancelFunc
	ended   sync.WaitGroup

	mu       sync.Mutex
	bounds   bounds
	looks    int
	timeline []seen
	// seen are all VMs that ever existed. least were available, most existed.
	seen        map[string]bool
	least, most int
	// gap is the longest time between two observations.
	gap   time.Duration
	wrong []string
}

// open begins to observe, until the end of the test or close.
func (f *fleet) open(b bounds) *eye {
	f.t.Helper()
	return f.openWith(b, nil)
}

// openWith also compares the VMs with the grant.
func (f *fleet) openWith(b bounds, granted func(context.Context) (int, error)) *eye {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	e := &eye{
		t: f.t, folder: types.ManagedObjectReference{Type: "Folder", Value: f.folder.MoRef}, bounds: b, granted: granted, end: cancel,
		seen: map[string]bool{}, least: int(f.desired),
	}
	f.t.Cleanup(e.stop)
	e.ended.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := e.look(ctx)
			if ctx.Err() != nil {
				return
			}
			e.mu.Lock()
			if err != nil {
				e.wrong = append(e.wrong, err.Error())
			}
			e.looks, e.gap, last = e.looks+1, max(e.gap, time.Since(last)), time.Now()
			e.mu.Unlock()
		}
	})
	return e
}

// expect sets other bounds from the next observation on. A change of the wanted number needs two calls: wide bounds
// before it, and new ones once the VMs match.
func (e *eye) expect(b bounds) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bounds = b
}

// until waits for an observation after a time with this many available VMs, and returns its time.
func (e *eye) until(available int, after time.Time) (at time.Time) {
	e.t.Helper()
	await.True(e.t, fmt.Sprintf("%d VMs to be available", available), func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, l := range e.timeline {
			if l.at.After(after) && l.available >= available {
				at = l.at
				return true
			}
		}
		return false
	})
	return at
}

func (e *eye) stop() {
	e.end()
	e.ended.Wait()
}

// close ends the observation. It fails for each observation with too few or too many VMs, and if the eye was closed for
// long.
func (e *eye) close() {
	e.t.Helper()
	e.stop()
	e.t.Logf("%d looks, the longest after %s: at least %d VMs available, at most %d there, %d in all", e.looks, e.gap, e.least, e.most, len(e.seen))
	for i, wrong := range e.wrong {
		if i == 10 {
			e.t.Errorf("and so on: %d times", len(e.wrong))
			break
		}
		e.t.Error(wrong)
	}
	if e.looks < 3 || e.gap > 5*time.Second {
		e.t.Errorf("want 3 looks or more, at most 5 s apart: %d looks, the longest after %s", e.looks, e.gap)
	}
}

// look counts once. VMs are read one after another, so a new VM can be read before it exists, and a leaving one
// afterwards for it. A violation is read again, and the less severe of the two counts.
func (e *eye) look(ctx context.Context) error {
	e.mu.Lock()
	want := e.bounds
	e.mu.Unlock()
	existing, available, err := e.read(ctx)
	if err != nil {
		return err
	}
	if len(available) < want.available || len(existing) > want.existing {
		again, up, err := e.read(ctx)
		if err != nil {
			return err
		}
		existing = slices.DeleteFunc(existing, func(ref string) bool { return !slices.Contains(again, ref) })
		for _, ref := range up {
			if !slices.Contains(available, ref) {
				available = append(available, ref)
			}
		}
	}
	if err := e.judge(ctx, existing); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ref := range existing {
		e.seen[ref] = true
	}
	e.timeline = append(e.timeline, seen{time.Now(), len(available)})
	e.least, e.most = min(e.least, len(available)), max(e.most, len(existing))
	if len(available) < want.available || len(existing) > want.existing {
		return fmt.Errorf("%s: %d VMs are available, want %d at least; %d are there, want %d at most", time.Now().Format("15:04:05.000"),
			len(available), want.available, len(existing), want.existing)
	}
	return nil
}

// judge fails if there are more VMs than granted. The VMs that exist both before and after the read of the ledger
// count.
func (e *eye) judge(ctx context.Context, existing []string) error {
	if e.granted == nil {
		return nil
	}
	granted, err := e.granted(ctx)
	if err != nil || len(existing) <= granted {
		return err
	}
	again, _, err := e.read(ctx)
	if err != nil {
		return err
	}
	there := slices.DeleteFunc(slices.Clone(existing), func(ref string) bool { return !slices.Contains(again, ref) })
	if len(there) > granted {
		return fmt.Errorf("%s: the ledger grants %d VMs, and there are %d", time.Now().Format("15:04:05.000"), granted, len(there))
	}
	return nil
}

// read returns the VMs of the folder, and those whose guest is up. The oldest are read first: those that leave before
// new ones.
func (e *eye) read(ctx context.Context) (existing, available []string, err error) {
	pc := property.DefaultCollector(shared.Person.Client())
	var folder mo.Folder
	if err := pc.RetrieveOne(ctx, e.folder, []string{"childEntity"}, &folder); err != nil {
		return nil, nil, fmt.Errorf("list the group's folder: %w", err)
	}
	slices.SortFunc(folder.ChildEntity, func(a, b types.ManagedObjectReference) int { return number(a) - number(b) })
	spec := types.PropertyFilterSpec{
		PropSet:                       []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"runtime.powerState", "guestHeartbeatStatus"}}},
		ReportMissingObjectsInResults: types.NewBool(true), // omits VMs that were deleted by now
	}
	for _, ref := range folder.ChildEntity {
		existing = append(existing, ref.Value)
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: ref})
	}
	if len(existing) == 0 {
		return nil, nil, nil
	}
	res, err := pc.RetrieveProperties(ctx, types.RetrieveProperties{SpecSet: []types.PropertyFilterSpec{spec}})
	if err != nil {
		return nil, nil, fmt.Errorf("read the group's VMs: %w", err)
	}
	var vms []mo.VirtualMachine
	if err := mo.LoadObjectContent(res.Returnval, &vms); err != nil {
		return nil, nil, fmt.Errorf("read the group's VMs: %w", err)
	}
	for i := range vms {
		if vms[i].Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn && vms[i].GuestHeartbeatStatus == types.ManagedEntityStatusGreen {
			available = append(available, vms[i].Self.Value)
		}
	}
	return existing, available, nil
}

// number of a reference: vCenter assigns them in ascending order.
func number(ref types.ManagedObjectReference) int {
	_, digits, _ := strings.Cut(ref.Value, "-")
	n, _ := strconv.Atoi(digits)
	return n
}
