//go:build unix

package crash

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/internal/receipts"
)

// Scenario is a change to one VmGroup, with its allowed effects on VMs.
type Scenario struct {
	Name string
	// Before is the number of VMs that run before the change; if it is zero and Exists is false, the group does not
	// exist.
	Before int32
	Exists bool
	// Change makes the change. If the manager must be down during the change, use Restart.
	Change func(ctx context.Context, t *trial) error
	// Restart makes the change while no manager runs: the points are in its start.
	Restart bool
	// After is the number of VMs when the spec is fulfilled. With Gone the group is deleted, and the VMs that exist
	// After were released: there must be one receipt for them, with the Cause.
	After int32
	Gone  bool
	Cause receipts.Cause
	// Kept are the ordinals whose VMs must be the same before and after: same reference, never changed.
	Kept []int32
	// Bystander puts a foreign VM into the group's folder.
	Bystander bool
	// Long is true if each trial waits for connections: `make test` omits it.
	Long bool
	// Adopts is true if another group adopts the VMs of a group that was released before: the same VMs, never stopped.
	Adopts bool
	// Legacy is the number of VMs of the original operator, in a folder that is granted to the group.
	Legacy int
	// Guests shut down when they are asked, after a moment.
	Guests bool
	// Replaced is true if others replace all VMs, with any ordinals. Resized is true if the same VMs get two CPUs, and
	// one extra VM is created and removed. At any time, at least as many VMs as before run.
	Replaced, Resized bool
	// Extended is true if the same VMs get data disks while they run.
	Extended bool
}

// big is the size of the scenarios that are named after it.
const big = 20

// Scenarios are all scenarios. Their names are part of the names of points.
func Scenarios() []Scenario {
	return []Scenario{
		{Name: "create-5", Change: create(5), After: 5},
		{Name: "up-20", Exists: true, Change: scale(big), After: big, Bystander: true},
		{Name: "down-20", Before: big, Exists: true, Change: scale(3), After: 3, Kept: []int32{0, 1, 2}, Bystander: true},
		{Name: "down-guests", Before: 3, Exists: true, Change: scale(1), After: 1, Kept: []int32{0}, Guests: true},
		{Name: "delete-20", Before: big, Exists: true, Change: remove, Gone: true},
		{Name: "delete-cloning", Change: createAndRemove(5), Gone: true},
		{Name: "release", Before: 3, Exists: true, Change: release, Gone: true, After: 3, Kept: []int32{0, 1, 2}, Cause: receipts.Released},
		{Name: "forget", Before: 2, Exists: true, Change: forget, Gone: true, After: 2, Kept: []int32{0, 1}, Cause: receipts.Forgotten, Long: true},
		{Name: "recreate", Before: 3, Exists: true, Change: recreate(3), After: 3},
		{Name: "repair", Before: 4, Exists: true, Change: damage, After: 4, Kept: []int32{0}},
		{Name: "replace", Before: 3, Exists: true, Change: edit(`{"template":"` + template + `"}`), After: 3, Guests: true, Replaced: true, Bystander: true},
		{Name: "resize", Before: 2, Exists: true, Change: edit(`{"cpu":2}`), After: 2, Guests: true, Resized: true, Bystander: true},
		{Name: "disks", Before: 2, Exists: true, Change: edit(`{"disks":{"data":[{"name":"a","sizeGiB":1},{"name":"b","sizeGiB":2}]}}`), After: 2, Extended: true, Bystander: true},
		{Name: "adopt", Before: 3, Exists: true, Change: adopt(3), After: 3, Adopts: true, Bystander: true},
		{Name: "legacy", Change: takeLegacy(3), After: 3, Adopts: true, Legacy: 3},
		{Name: "restart", Before: 3, Exists: true, Change: scale(6), Restart: true, After: 6, Kept: []int32{0, 1, 2}},
	}
}

func create(replicas int32) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error { return t.create(ctx, replicas) }
}

func scale(replicas int32) func(context.Context, *trial) error {
	return edit(fmt.Sprintf(`{"replicas":%d}`, replicas))
}

// edit changes the group's spec.
func edit(spec string) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		if err := t.lane.hub().Patch(ctx, t.object(), client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":%s}`, spec))); err != nil {
			return fmt.Errorf("edit the group to %s: %w", spec, err)
		}
		return nil
	}
}

func remove(ctx context.Context, t *trial) error {
	if err := t.lane.hub().Delete(ctx, t.object()); err != nil {
		return fmt.Errorf("delete the group: %w", err)
	}
	return nil
}

// createAndRemove deletes the group when its first clone was sent.
func createAndRemove(replicas int32) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		if err := t.create(ctx, replicas); err != nil {
			return err
		}
		if err := t.until(ctx, "the first clone to be asked for", func(context.Context) (bool, error) {
			return t.lane.clones() > 0, nil
		}); err != nil {
			return err
		}
		return remove(ctx, t)
	}
}

// recreate deletes the group and applies it again under the same name at once.
func recreate(replicas int32) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		if err := remove(ctx, t); err != nil {
			return err
		}
		if err := t.until(ctx, "the old group to be gone", func(ctx context.Context) (bool, error) {
			err := t.lane.hub().Get(ctx, client.ObjectKeyFromObject(t.object()), &v1alpha1.VmGroup{})
			return err != nil && client.IgnoreNotFound(err) == nil, client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
		return t.create(ctx, replicas)
	}
}

// adopt creates a group with another name that adopts the VMs of the released one.
func adopt(replicas int32) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		t.name, t.adopts = "heir", t.uids[0]
		return t.create(ctx, replicas)
	}
}

// takeLegacy creates a group that looks like one of the original operator, whose VMs must be adopted.
func takeLegacy(replicas int32) func(context.Context, *trial) error {
	return func(ctx context.Context, t *trial) error {
		t.adopts = v1alpha1.AdoptLegacy
		return t.create(ctx, replicas)
	}
}

// damage powers one VM off and deletes two, as a vSphere client's user.
func damage(ctx context.Context, t *trial) error {
	person := t.lane.stack.Person
	if err := person.PowerOff(ctx, t.vmPath(1)); err != nil {
		return err
	}
	for _, ordinal := range []int32{2, 3} {
		if err := person.Destroy(ctx, t.vmPath(ordinal)); err != nil {
			return err
		}
	}
	return nil
}
