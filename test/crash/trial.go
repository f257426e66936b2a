//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
	"github.com/codeconnect/vmgroup-operator/test/harness/vcsim/sim"
)

const (
	// patience is the timeout of each wait of a trial, long enough for a busy machine.
	patience = 120 * time.Second
	// calm is the time without writes after which a trial counts as stable.
	calm = 1500 * time.Millisecond
	// trailing is the maximum number of writes after the spec is fulfilled: reports delayed by a second, of each of
	// two managers.
	trailing = 4
)

// Outcome is the result of a trial.
type Outcome struct {
	// Reached is false if the run had fewer calls of the site than the learning run.
	Reached bool
	// Wrong is empty on success.
	Wrong []string
	// Trace are the calls of the trial.
	Trace []Site
}

// trial is one run of a scenario, in a separate namespace.
type trial struct {
	lane      *Lane
	scenario  Scenario
	namespace string
	name      string
	uids      []string
	bystander string
	// adopts is the UID of the group whose VMs the next group adopts, or empty.
	adopts string
	// from is the path of the folder with VMs of the original operator, or empty.
	from   string
	before map[string]sim.VM
}

// Learn runs a scenario undisturbed and returns its calls.
func (l *Lane) Learn(ctx context.Context, s Scenario) ([]Site, error) {
	out, err := l.try(ctx, s, nil)
	if err == nil && len(out.Wrong) > 0 {
		err = errors.New(strings.Join(out.Wrong, "; "))
	}
	if err != nil {
		return nil, fmt.Errorf("scenario %s, undisturbed: %w", s.Name, err)
	}
	return out.Trace, nil
}

// Try runs a scenario with a point. An error means that the trial could not run or did not end; the outcome contains
// the manager's violations.
func (l *Lane) Try(ctx context.Context, s Scenario, p Point) (Outcome, error) {
	return l.try(ctx, s, &p)
}

func (l *Lane) try(ctx context.Context, s Scenario, p *Point) (Outcome, error) {
	l.trials++
	t := &trial{lane: l, scenario: s, namespace: fmt.Sprintf("t-%d", l.trials), name: "vg"}
	out, err := t.run(ctx, p)
	if err != nil {
		return out, fmt.Errorf("%w\nthe group: %s", err, t.words(ctx))
	}
	if err := t.cleanUp(ctx); err != nil {
		return out, fmt.Errorf("clean up after the trial: %w\nthe group: %s", err, t.words(ctx))
	}
	return out, nil
}

func (t *trial) run(ctx context.Context, p *Point) (Outcome, error) {
	if err := t.setUp(ctx); err != nil {
		return Outcome{}, fmt.Errorf("set up: %w", err)
	}
	fired, trace, err := t.disturb(ctx, p)
	out := Outcome{Reached: fired, Trace: trace}
	if err != nil {
		return out, err
	}
	if p != nil && p.Mode != CrashBefore && p.Mode != CrashAfter {
		t.lane.kill()
		if err := t.lane.start(ctx); err != nil {
			return out, err
		}
	}
	sessions, err := t.succeeded(ctx)
	if err != nil {
		return out, err
	}
	writes, err := t.settle(ctx, calm)
	if err != nil {
		return out, err
	}
	if writes > trailing {
		out.Wrong = append(out.Wrong, fmt.Sprintf("%d writes after the spec was fulfilled", writes))
	}
	after, err := t.lane.stack.Person.VMs(ctx)
	if err != nil {
		return out, err
	}
	if sessions > 1 {
		out.Wrong = append(out.Wrong, fmt.Sprintf("%d vCenter sessions for one VCenter", sessions))
	}
	seen, err := t.evidence(ctx, after)
	if err != nil {
		return out, err
	}
	if seen.receipts, err = t.receipts(ctx); err != nil {
		return out, err
	}
	out.Wrong = append(out.Wrong, judge(seen)...)
	return out, nil
}

// setUp creates the state before the change.
func (t *trial) setUp(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}
	if err := t.lane.hub().Create(ctx, namespace); err != nil {
		return fmt.Errorf("create namespace %s: %w", t.namespace, err)
	}
	if t.scenario.Exists {
		if err := t.create(ctx, t.scenario.Before); err != nil {
			return err
		}
		if err := t.untilReady(ctx, t.scenario.Before); err != nil {
			return err
		}
	}
	if t.scenario.Bystander {
		folder := path.Join(t.folder(), t.name+"."+t.uids[0][:8])
		person := t.lane.stack.Person
		if t.scenario.Before == 0 { // the group has not needed a folder yet
			if err := person.CreateFolders(ctx, folder); err != nil {
				return err
			}
		}
		t.bystander = path.Join(folder, "another-owners")
		if _, err := person.CreateVM(ctx, folder, "another-owners"); err != nil {
			return err
		}
	}
	switch {
	case t.scenario.Legacy > 0:
		if err := t.makeLegacy(ctx); err != nil {
			return err
		}
	case t.scenario.Adopts:
		if err := release(ctx, t); err != nil {
			return err
		}
		if err := t.untilGone(ctx); err != nil {
			return err
		}
	}
	var err error
	t.before, err = t.lane.stack.Person.VMs(ctx)
	t.lane.stack.Proxy.Reset()
	return err
}

// makeLegacy creates the objects of the original operator: VMs in a folder in its layout, the younger ones first in
// the alphabet, and a foreign one. The hub grants the folder.
func (t *trial) makeLegacy(ctx context.Context) error {
	person := t.lane.stack.Person
	t.from = fmt.Sprintf("/DC0/vm/vm-operator/%s-%s", t.namespace, t.name)
	if err := person.CreateFolders(ctx, t.from); err != nil {
		return err
	}
	for i := range t.scenario.Legacy {
		name := fmt.Sprintf("%s-replica-%s", t.name, strings.Repeat(string(rune('z'-i)), 8))
		if _, err := person.CreateVM(ctx, t.from, name); err != nil {
			return err
		}
		if err := person.PowerOn(ctx, path.Join(t.from, name)); err != nil {
			return err
		}
	}
	t.bystander = path.Join(t.from, "another-owners")
	if _, err := person.CreateVM(ctx, t.from, "another-owners"); err != nil {
		return err
	}
	if err := person.Set(ctx, t.bystander, map[string]string{inventory.KeyOwner: "v9;of a later version"}); err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"spec":{"legacyFolders":[{"folder":"vm-operator/%s-%s","memberCluster":"local","namespace":%q,"group":%q}]}}`, t.namespace, t.name, t.namespace, t.name)
	vcenter := &v1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := t.lane.hub().Patch(ctx, vcenter, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		return fmt.Errorf("grant the folder: %w", err)
	}
	return nil
}

// disturb makes the change with the point armed, keeps a manager running, and waits until the spec is fulfilled.
func (t *trial) disturb(ctx context.Context, p *Point) (fired bool, trace []Site, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if t.scenario.Restart {
		t.lane.kill()
		if err := t.scenario.Change(ctx, t); err != nil {
			return false, nil, err
		}
	}
	t.lane.trap.arm(p)
	defer func() { trace, fired = t.lane.disarm() }()
	change := t.scenario.Change
	if t.scenario.Restart {
		change = func(ctx context.Context, t *trial) error { return t.lane.start(ctx) }
	}
	if err := change(ctx, t); err != nil {
		return false, nil, err
	}
	return false, nil, t.until(ctx, "the spec to be fulfilled", t.fulfilled)
}

// disarm ends the armed time. It waits for a kill in progress, and then starts the manager.
func (l *Lane) disarm() (trace []Site, fired bool) {
	l.killing.Lock()
	defer l.killing.Unlock()
	return l.trap.disarm()
}

// until waits for a condition; it restarts the manager if the trap has killed it.
func (t *trial) until(ctx context.Context, what string, condition func(context.Context) (bool, error)) error {
	return await.Condition(ctx, what, func(ctx context.Context) (bool, error) {
		select {
		case <-t.lane.crashed:
			if err := t.lane.start(ctx); err != nil {
				return false, err
			}
		default:
		}
		return condition(ctx)
	})
}

// fulfilled reports whether Kubernetes and vCenter both show the requested state.
func (t *trial) fulfilled(ctx context.Context) (bool, error) {
	g := &v1alpha1.VmGroup{}
	err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(t.object()), g)
	if t.scenario.Gone {
		t.lane.cut.CompareAndSwap(err != nil && client.IgnoreNotFound(err) == nil, false) // it is forgotten, and its vCenter becomes reachable
		return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
	}
	if err != nil || !ready(g, t.scenario.After) {
		return false, err
	}
	// Kubernetes possibly does not know yet about a user's change in vCenter.
	vms, err := t.lane.stack.Person.VMs(ctx)
	if err != nil {
		return false, err
	}
	now, err := t.evidence(ctx, vms)
	return err == nil && len(wrongVMs(now)) == 0 && len(notUpdated(now)) == 0 && len(wrongDisks(now)) == 0, err
}

// evidence of the trial, with the current VMs in vCenter.
func (t *trial) evidence(ctx context.Context, now map[string]sim.VM) (evidence, error) {
	e := evidence{
		scenario: t.scenario, group: t.name, uids: t.uids, folder: t.folder(), before: t.before, after: now,
		changes: t.lane.stack.Proxy.Records(), bystander: t.bystander, from: t.from,
	}
	if !t.scenario.Extended {
		return e, nil
	}
	e.disks = map[string][]types.VirtualDisk{}
	for _, vm := range e.own(now) {
		var err error
		if e.disks[vm.Path], err = t.lane.stack.Person.Disks(ctx, vm.Path); err != nil {
			return e, err
		}
	}
	return e, nil
}

func ready(g *v1alpha1.VmGroup, vms int32) bool {
	return g.Status.ObservedGeneration == g.Generation && g.Status.Phase == v1alpha1.PhaseRunning && stack.IsReady(g.Status.Conditions) &&
		g.Status.Replicas == vms && g.Status.ReadyReplicas == vms && int(vms) == len(g.Status.VMs) && len(g.Status.Deleting) == 0
}

// succeeded waits until the running manager has taken over from the killed ones: with the buckets it ends their
// logins. It returns the number of logins, which is more than one if it never did.
func (t *trial) succeeded(ctx context.Context) (logins int, err error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = t.until(waiting, "one login at vCenter", func(ctx context.Context) (bool, error) {
		if !t.lane.reading() {
			return false, nil // the one login can still be that of the killed manager
		}
		sessions, err := t.lane.stack.Person.Sessions(ctx)
		logins = len(sessions)
		return logins == 1, err
	})
	if logins > 1 && ctx.Err() == nil {
		return logins, nil
	}
	return logins, err
}

// settle waits until a manager watches both sides and no write has occurred for as long as calm. It returns the
// number of writes to VmGroups and of changing calls to vCenter in that time.
func (t *trial) settle(ctx context.Context, calm time.Duration) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	begin := t.lane.changes.Load()
	last, since := begin, time.Now()
	err := t.until(ctx, "the manager to watch and nothing to be written", func(context.Context) (bool, error) {
		if now := t.lane.changes.Load(); now != last || !t.lane.reading() {
			last, since = now, time.Now()
		}
		return time.Since(since) > calm, nil
	})
	return last - begin, err
}

// startReads is the number of calls by which a new manager has read vCenter's inventory: content, login, view,
// properties and the first wait.
const startReads = 6

// reading reports whether the last started manager watches VmGroups and has read vCenter's inventory.
func (l *Lane) reading() bool { return l.watches.Load() > 0 && l.reads.Load() >= startReads }

// cleanUp deletes the group with its remains, and its namespace.
func (t *trial) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := client.IgnoreNotFound(t.lane.hub().Delete(ctx, t.object())); err != nil {
		return err
	}
	if err := t.untilGone(ctx); err != nil {
		return err
	}
	if t.from != "" {
		if err := t.lane.stack.Person.RemoveAll(ctx, t.from); err != nil {
			return err
		}
	}
	return t.lane.stack.Person.RemoveAll(ctx, t.folder())
}

func (t *trial) untilGone(ctx context.Context) error {
	return t.until(ctx, "the group to be gone", func(ctx context.Context) (bool, error) {
		err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(t.object()), &v1alpha1.VmGroup{})
		return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
	})
}

func (t *trial) object() *v1alpha1.VmGroup {
	return &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: t.name}}
}

func (t *trial) create(ctx context.Context, replicas int32) error {
	g := t.object()
	g.Spec = v1alpha1.VmGroupSpec{CPU: 1, Memory: 1, Template: template, Replicas: &replicas}
	if t.scenario.Guests {
		g.Spec.Template = guests
	}
	if t.adopts != "" {
		g.Annotations = map[string]string{v1alpha1.AdoptAnnotation: t.adopts}
	}
	if t.from != "" {
		g.Finalizers = []string{v1alpha1.LegacyFinalizer}
	}
	if err := t.lane.hub().Create(ctx, g); err != nil {
		return fmt.Errorf("apply the group: %w", err)
	}
	t.uids = append(t.uids, string(g.UID))
	return nil
}

func (t *trial) untilReady(ctx context.Context, vms int32) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return t.until(ctx, fmt.Sprintf("%d VMs of %s to run", vms, t.name), func(ctx context.Context) (bool, error) {
		g := &v1alpha1.VmGroup{}
		err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(t.object()), g)
		return err == nil && ready(g, vms), err
	})
}

// folder is the inventory path of the namespace's folder.
func (t *trial) folder() string { return "/DC0/vm/vm-operator/local/" + t.namespace }

func (t *trial) vmPath(ordinal int32) string {
	uid := t.uids[len(t.uids)-1]
	return fmt.Sprintf("%s/%s.%s/%s-%d", t.folder(), t.name, uid[:8], t.name, ordinal)
}

// words describes the group's state, for a message.
func (t *trial) words(ctx context.Context) string {
	g := &v1alpha1.VmGroup{}
	if err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(t.object()), g); err != nil {
		return err.Error()
	}
	s := &g.Status
	return fmt.Sprintf("phase %s, %q, vms %+v, deleting %v, conditions %+v", s.Phase, s.LastMessage, s.VMs, s.Deleting, s.Conditions)
}
