package world

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/fake"
	"github.com/codeconnect/vmgroup-operator/test/harness/history"
)

// template is the template of all groups.
const template = "debian-12"

// Travel is the travel time of a call to vCenter (There) and of its answer (Back). vCenter has executed the call when the way back begins.
type Travel struct{ There, Back time.Duration }

// VCenter is the fake vCenter with delayed calls and a record of their callers.
type VCenter struct {
	*fake.Server

	mu    sync.Mutex
	calls []*call
	// travel contains functions for the travel times of calls. The first function that returns true decides.
	travel []func(c history.Call) (Travel, bool)
	// homes are the groups of folders.
	homes map[vsphere.Ref]string
	feeds map[*Replica]func(group vsphere.GroupKey)
}

// call is a sent call.
type call struct {
	history.Call
	replica *Replica
	// held is true if its client was stopped while the call was in progress, because no lease could end the call then.
	held bool
}

// givenUp is the outcome of a call whose client closed the connection.
const givenUp = "given up"

// errClosed is the error of a client that canceled a call.
var errClosed = errors.New("the connection was closed")

func newVCenter() *VCenter {
	v := &VCenter{homes: map[vsphere.Ref]string{}, feeds: map[*Replica]func(vsphere.GroupKey){}}
	v.Server = fake.New(fake.Options{Now: time.Now, Notifier: v})
	v.AddTemplate(vsphere.Template{Name: template})
	return v
}

// usual returns the default travel times. They are long enough that calls are in progress at any time.
func usual(method string) Travel {
	if method == string(vsphere.OpClone) {
		return Travel{20 * time.Millisecond, 400 * time.Millisecond}
	}
	return Travel{10 * time.Millisecond, 90 * time.Millisecond}
}

// taskTime is the duration of vCenter's tasks.
func taskTime(kind vsphere.OperationKind) time.Duration {
	if kind == vsphere.OpClone {
		return 3 * time.Second
	}
	return 500 * time.Millisecond
}

// OnCall makes f decide the travel times of calls, until the returned function is called.
func (v *VCenter) OnCall(f func(c history.Call) (Travel, bool)) (end func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.travel = append(v.travel, f)
	n := len(v.travel) - 1
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.travel[n] = func(history.Call) (Travel, bool) { return Travel{}, false }
	}
}

// GroupChanged implements vsphere.Notifier.
func (v *VCenter) GroupChanged(group vsphere.GroupKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, tell := range v.feeds {
		tell(group)
	}
}

// ServerChanged implements vsphere.Notifier. The server never changes in a world.
func (v *VCenter) ServerChanged() {}

// subscribe notifies a replica of changes of groups.
func (v *VCenter) subscribe(r *Replica, tell func(group vsphere.GroupKey)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.feeds[r] = tell
}

func (v *VCenter) unsubscribe(r *Replica) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.feeds, r)
}

// History returns the calls of replicas. It omits calls that a stop of their client held open, because no lease can end them.
func (v *VCenter) History() (h history.History) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.calls {
		if !c.held {
			h.Calls = append(h.Calls, c.Call)
		}
	}
	slices.SortStableFunc(h.Calls, func(a, b history.Call) int { return a.Start.Compare(b.Start) })
	return h
}

func (v *VCenter) begin(ctx context.Context, r *Replica, method, group, name string) (*call, Travel) {
	c := &call{replica: r, Call: history.Call{
		Boot: r.Boot, Group: group, Epoch: epochOf(ctx), Method: method, Name: name, Start: time.Now(),
	}}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls = append(v.calls, c)
	for _, decide := range slices.Backward(v.travel) {
		if t, ok := decide(c.Call); ok {
			return c, t
		}
	}
	return c, usual(method)
}

// finish records the end of a call, once.
func (v *VCenter) finish(c *call, outcome string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if c.End.IsZero() {
		c.End, c.Outcome = time.Now(), outcome
	}
}

// carriedOut records that vCenter has executed a call.
func (v *VCenter) carriedOut(c *call) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !c.End.IsZero() {
		c.Finished = time.Now()
	}
}

// hold records that a process was stopped while it had calls in progress.
func (v *VCenter) hold(r *Replica) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, c := range v.calls {
		c.held = c.held || c.replica == r && c.End.IsZero()
	}
}

// epochOf reads the epoch of the pass that makes a call.
func epochOf(ctx context.Context) (e history.Epoch) {
	parts := strings.SplitN(strings.TrimPrefix(vsphere.OperationOf(ctx), "vmgroup-"), "-", 2)
	generation, number, _ := strings.Cut(parts[0], ".")
	e.Generation, _ = strconv.ParseInt(generation, 10, 64)
	e.Number, _ = strconv.ParseInt(number, 10, 64)
	return e
}

// wire is a replica's connection to vCenter. Like the real port, it checks the fence right before it sends a call, and ends the call with
// its context.
type wire struct {
	*VCenter
	replica *Replica
}

// send sends a call. do is vCenter's part. Its context has an open fence, because the fence belongs to the client.
func (w *wire) send(ctx context.Context, method, group, name string, do func(ctx context.Context) error) error {
	process := w.replica.Process
	if err := process.Turn(); err != nil {
		return transient(method, err)
	}
	if err := vsphere.CheckFence(ctx); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return transient(method, ctx.Err())
	}
	c, travel := w.begin(ctx, w.replica, method, group, name)
	answer := make(chan error, 1)
	time.AfterFunc(travel.There, func() {
		err := do(vsphere.WithFence(context.WithoutCancel(ctx), func() error { return nil }))
		w.carriedOut(c)
		time.AfterFunc(travel.Back, func() {
			w.finish(c, "ok")
			answer <- err
		})
	})
	err := transient(method, errClosed)
	select {
	case err = <-answer:
	case <-ctx.Done():
		w.finish(c, givenUp)
	case <-w.replica.killed:
		w.finish(c, givenUp)
	}
	if turn := process.Turn(); turn != nil {
		return transient(method, turn)
	}
	return err
}

func transient(op string, err error) error {
	return &vsphere.Error{Kind: vsphere.KindTransient, Op: op, Err: err}
}

// Touch is a call without effect on a group, which need not exist.
func (w *wire) Touch(ctx context.Context, group string) error {
	return w.send(ctx, "Touch", group, "", func(context.Context) error { return nil })
}

// task sends a call whose task ends after a while.
func (w *wire) task(ctx context.Context, kind vsphere.OperationKind, id vsphere.GroupID, ordinal int32, name string, submit func(context.Context) error) error {
	return w.send(ctx, string(kind), id.Group, name, func(ctx context.Context) error {
		err := submit(ctx)
		if err == nil {
			time.AfterFunc(taskTime(kind), func() { w.FinishOne(id.Key(), ordinal) })
		}
		return err
	})
}

func (w *wire) onVM(ctx context.Context, kind vsphere.OperationKind, t vsphere.Target, submit func(context.Context, vsphere.Target) error) error {
	return w.task(ctx, kind, t.ID, t.Ordinal, t.VM.Value, func(ctx context.Context) error { return submit(ctx, t) })
}

// Clone implements vsphere.Server.
func (w *wire) Clone(ctx context.Context, req vsphere.CloneRequest) error {
	return w.task(ctx, vsphere.OpClone, req.Stamp.GroupID, req.Stamp.Ordinal, req.Name, func(ctx context.Context) error { return w.Server.Clone(ctx, req) })
}

// PowerOn implements vsphere.Server.
func (w *wire) PowerOn(ctx context.Context, t vsphere.Target) error {
	return w.onVM(ctx, vsphere.OpPowerOn, t, w.Server.PowerOn)
}

// PowerOff implements vsphere.Server.
func (w *wire) PowerOff(ctx context.Context, t vsphere.Target) error {
	return w.onVM(ctx, vsphere.OpPowerOff, t, w.Server.PowerOff)
}

// ShutdownGuest implements vsphere.Server.
func (w *wire) ShutdownGuest(ctx context.Context, t vsphere.Target) error {
	return w.onVM(ctx, vsphere.OpShutdownGuest, t, w.Server.ShutdownGuest)
}

// Reconfigure implements vsphere.Server.
func (w *wire) Reconfigure(ctx context.Context, r vsphere.Reconfiguration) error {
	return w.onVM(ctx, vsphere.OpReconfigure, r.Target, func(ctx context.Context, _ vsphere.Target) error { return w.Server.Reconfigure(ctx, r) })
}

// Mark implements vsphere.Server.
func (w *wire) Mark(ctx context.Context, t vsphere.Target) error {
	return w.onVM(ctx, vsphere.OpMark, t, w.Server.Mark)
}

// Destroy implements vsphere.Server.
func (w *wire) Destroy(ctx context.Context, t vsphere.Target) error {
	return w.onVM(ctx, vsphere.OpDestroy, t, w.Server.Destroy)
}

// Release implements vsphere.Server.
func (w *wire) Release(ctx context.Context, t vsphere.Target) error {
	return w.onVM(ctx, vsphere.OpRelease, t, w.Server.Release)
}

// Restamp implements vsphere.Server.
func (w *wire) Restamp(ctx context.Context, t vsphere.Target, installation string) error {
	return w.onVM(ctx, vsphere.OpRestamp, t, func(ctx context.Context, t vsphere.Target) error { return w.Server.Restamp(ctx, t, installation) })
}

// Claim implements vsphere.Server.
func (w *wire) Claim(ctx context.Context, a vsphere.Adoption) error {
	return w.onAdoption(ctx, vsphere.OpClaim, a, w.Server.Claim)
}

// Move implements vsphere.Server.
func (w *wire) Move(ctx context.Context, a vsphere.Adoption) error {
	return w.onAdoption(ctx, vsphere.OpMove, a, w.Server.Move)
}

// Rename implements vsphere.Server.
func (w *wire) Rename(ctx context.Context, a vsphere.Adoption) error {
	return w.onAdoption(ctx, vsphere.OpRename, a, w.Server.Rename)
}

// Adopt implements vsphere.Server.
func (w *wire) Adopt(ctx context.Context, a vsphere.Adoption) error {
	return w.onAdoption(ctx, vsphere.OpAdopt, a, w.Server.Adopt)
}

func (w *wire) onAdoption(ctx context.Context, kind vsphere.OperationKind, a vsphere.Adoption, submit func(context.Context, vsphere.Adoption) error) error {
	return w.task(ctx, kind, a.Stamp.GroupID, a.Stamp.Ordinal, a.VM.Value, func(ctx context.Context) error { return submit(ctx, a) })
}

// EnsureFolder implements vsphere.Server.
func (w *wire) EnsureFolder(ctx context.Context, path vsphere.FolderPath) (vsphere.Folder, error) {
	group := w.replica.world.uidOf(path.Leaf)
	found := make(chan vsphere.Folder, 1)
	err := w.send(ctx, "EnsureFolder", group, path.Leaf, func(ctx context.Context) error {
		folder, err := w.Server.EnsureFolder(ctx, path)
		w.mu.Lock()
		w.homes[folder.Ref] = group
		w.mu.Unlock()
		found <- folder
		return err
	})
	if err != nil {
		return vsphere.Folder{}, err
	}
	return <-found, nil
}

// DestroyFolder implements vsphere.Server.
func (w *wire) DestroyFolder(ctx context.Context, folder vsphere.Ref) error {
	w.mu.Lock()
	group := w.homes[folder]
	w.mu.Unlock()
	return w.send(ctx, "DestroyFolder", group, "", func(ctx context.Context) error { return w.Server.DestroyFolder(ctx, folder) })
}
