package govmomi

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/codeconnect/vmgroup-operator/internal/vsphere"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/inventory"
	"github.com/codeconnect/vmgroup-operator/internal/vsphere/survey"
)

const (
	// probePrefix starts the name of a probe's folder. No name of a MemberCluster can contain an underscore.
	probePrefix = "vmgroup_check_"
	// clockSlack is the accepted difference between clocks when deciding whether a probe has ended.
	clockSlack = 5 * time.Second
	// clearTime is the time limit for removing the leftovers of a killed probe.
	clearTime = time.Minute

	propChildren = "childEntity"
)

var (
	errForeignInProbe = errors.New("something is in the folder that the probe did not make; move it away, or delete the folder in vCenter")
	errStillCloning   = errors.New("a clone into the folder may still run; run the check with --probe again once it has ended")
)

// probeName returns the folder name of a probe that ends at a moment, by vCenter's clock.
func probeName(until time.Time) string {
	return fmt.Sprintf("%s%x_%s", probePrefix, until.Unix()+1, uuid.NewString()[:8])
}

// probeUntil reads the moment from a folder's name, or returns false if the folder is not a probe's.
func probeUntil(name string) (until time.Time, ok bool) {
	rest, ok := strings.CutPrefix(name, probePrefix)
	hex, id, found := strings.Cut(rest, "_")
	seconds, err := strconv.ParseInt(hex, 16, 64)
	if !ok || !found || len(id) != 8 || err != nil || name != fmt.Sprintf("%s%x_%s", probePrefix, seconds, id) {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// leftFolder is the folder of a probe.
type leftFolder struct {
	ref         vsphere.Ref
	name, path  string
	from, until time.Time
	// cloning is true if a clone into the folder can run.
	cloning bool
}

// sweep searches for leftovers of killed probes. If this survey can make changes, sweep removes them.
func (s *surveyor) sweep(ctx context.Context) {
	found := s.facts.Leftovers[:0:0]
	for _, l := range s.facts.Leftovers {
		if l.Removed {
			found = append(found, l)
		}
	}
	for _, folder := range s.leftFolders(ctx) {
		l := survey.Leftover{Path: folder.path, Until: folder.until}
		if s.o.Probe && s.vcenterNow().After(folder.until.Add(clockSlack)) {
			err := s.clearLeft(ctx, folder)
			l.Removed, l.Problem, l.Foreign = err == nil, problemOf(err), errors.Is(err, errForeignInProbe)
		}
		found = append(found, l)
	}
	s.facts.Leftovers = found
}

func (s *surveyor) clearLeft(ctx context.Context, folder leftFolder) error {
	ctx, cancel := context.WithTimeout(vsphere.WithFence(ctx, bootstrapFence), clearTime)
	defer cancel()
	return s.clear(ctx, folder)
}

// leftFolders returns the probe folders in the root folder and in the folders above it.
func (s *surveyor) leftFolders(ctx context.Context) (out []leftFolder) {
	for _, parent := range s.above {
		o, err := exact(ctx, s.conn.client, parent.Ref, propChildren)
		if err != nil {
			continue
		}
		var folders []vsphere.Ref
		for _, ref := range o.refsOf(propChildren) {
			if ref.Type == vsphere.TypeFolder {
				folders = append(folders, ref)
			}
		}
		children, err := existing(ctx, s.conn.client, folders, types.PropertySpec{Type: vsphere.TypeFolder, PathSet: []string{propName}})
		if err != nil {
			continue
		}
		for _, child := range children {
			name := child.text(propName)
			if until, ok := probeUntil(name); ok {
				// The start of that probe is unknown. It was less than an hour before its end.
				out = append(out, leftFolder{ref: child.ref, name: name, path: parent.Path + "/" + name, from: until.Add(-time.Hour), until: until, cloning: true})
			}
		}
	}
	return out
}

// clear removes a probe's folder with its VM, and nothing that the probe did not create. vCenter destroys a folder's
// content together with the folder, so clear reads the content right before.
func (s *surveyor) clear(ctx context.Context, folder leftFolder) error {
	for {
		o, err := exact(ctx, s.conn.client, folder.ref, propName, propChildren)
		if notFound(err, folder.ref) {
			return nil
		}
		if err == nil && len(o.denied) > 0 {
			err = errUnreadable
		}
		if err != nil {
			return fmt.Errorf("read folder %s: %w", folder.name, err)
		}
		children := o.refsOf(propChildren)
		if len(children) == 0 {
			if s.mayStillClone(ctx, folder) {
				if !sleep(ctx, time.Second) {
					return errStillCloning
				}
				continue
			}
			return s.destroyFolder(ctx, folder)
		}
		for _, child := range children {
			if child.Type != vsphere.TypeVirtualMachine {
				return errForeignInProbe
			}
			if err := s.clearVM(ctx, child, folder.name); err != nil {
				return err
			}
		}
		if !sleep(ctx, lookFirst) { // the folder can still show deleted objects for a moment
			return ctx.Err()
		}
	}
}

func (s *surveyor) mayStillClone(ctx context.Context, folder leftFolder) bool {
	if !folder.cloning {
		return false
	}
	n, known := s.clonesSince(ctx, folder.from, folder.until)
	return n > 0 || !known && s.vcenterNow().Before(folder.until.Add(time.Hour))
}

func (s *surveyor) destroyFolder(ctx context.Context, folder leftFolder) error {
	resp, err := methods.Destroy_Task(ctx, s.conn.client, &types.Destroy_Task{This: toRef(folder.ref)})
	if notFound(err, folder.ref) {
		return nil
	}
	if err == nil {
		_, err = s.await(ctx, fromRef(resp.Returnval), nil)
	}
	if err != nil {
		// The task of a deleted object can be hidden.
		if _, gone := exact(ctx, s.conn.client, folder.ref, propName); notFound(gone, folder.ref) {
			return nil
		}
		return fmt.Errorf("destroy folder %s: %w", folder.name, err)
	}
	return nil
}

// clearVM destroys a VM of a probe.
func (s *surveyor) clearVM(ctx context.Context, vm vsphere.Ref, name string) error {
	o, err := exact(ctx, s.conn.client, vm, propPower, propChangeVersion, extraConfigPath(keyProbe))
	switch {
	case notFound(err, vm):
		return nil
	case err != nil:
		return fmt.Errorf("read the VM in folder %s: %w", name, err)
	case !o.has(propChangeVersion): // it is being cloned
		if !sleep(ctx, time.Second) {
			return errStillCloning
		}
		return nil
	case extraValue(o, extraConfigPath(keyProbe)) != name:
		return errForeignInProbe
	}
	if power(o.text(propPower)) != vsphere.PoweredOff {
		if err := s.switchOff(ctx, vm); err != nil {
			return fmt.Errorf("power off the VM in folder %s: %w", name, err)
		}
	}
	if _, err := s.destroyVM(ctx, vm, name); err != nil {
		if _, gone := exact(ctx, s.conn.client, vm, propName); notFound(gone, vm) {
			return nil
		}
		return fmt.Errorf("destroy the VM in folder %s: %w", name, err)
	}
	return nil
}

func (s *surveyor) switchOff(ctx context.Context, vm vsphere.Ref) error {
	resp, err := methods.PowerOffVM_Task(ctx, s.conn.client, &types.PowerOffVM_Task{This: toRef(vm)})
	if err == nil {
		_, err = s.await(ctx, fromRef(resp.Returnval), nil)
	}
	if alreadyThere(vsphere.OpPowerOff, err) {
		return nil
	}
	return err
}

// destroyVM destroys a VM of a probe, unless it has disks that the probe did not create: vCenter deletes all attached
// disks.
func (s *surveyor) destroyVM(ctx context.Context, vm vsphere.Ref, name string) (task vsphere.Ref, err error) {
	o, err := exact(ctx, s.conn.client, vm, propDevices, extraConfigPath(keyProbe), extraConfigPath(inventory.KeyDisks))
	if err != nil {
		return task, err
	}
	if extraValue(o, extraConfigPath(keyProbe)) != name {
		return task, errForeignInProbe
	}
	refuse := func(kind vsphere.Kind, cause error) error {
		return &vsphere.Error{Kind: kind, Op: "destroy the VM of the probe", Object: vm, Err: cause}
	}
	if err := holdForDisks(o, name+"/"+probeVM, vsphere.Target{VM: vm}, refuse); err != nil {
		return task, err
	}
	resp, err := methods.Destroy_Task(ctx, s.conn.client, &types.Destroy_Task{This: toRef(vm)})
	if err != nil {
		return task, err
	}
	task = fromRef(resp.Returnval)
	_, err = s.await(ctx, task, nil)
	if errors.Is(err, errTaskHidden) || errors.Is(err, errTaskForgot) {
		if _, gone := exact(ctx, s.conn.client, vm, propName); notFound(gone, vm) {
			err = nil
		}
	}
	return task, err
}

// await waits for the end of a task, and returns the task. If meanwhile is not nil, await calls it after each read of a
// running task.
func (s *surveyor) await(ctx context.Context, task vsphere.Ref, meanwhile func(context.Context)) (object, error) {
	for wait := lookFirst; ; wait = min(2*wait, time.Second) {
		o, err := exact(ctx, s.conn.client, task, taskState, taskErr, taskResult)
		if notFound(err, task) {
			return o, errTaskForgot
		}
		if err != nil {
			return o, err
		}
		switch types.TaskInfoState(o.text(taskState)) {
		case types.TaskInfoStateSuccess:
			return o, nil
		case types.TaskInfoStateError:
			if f, ok := o.values[taskErr].(types.LocalizedMethodFault); ok {
				return o, taskError{&f}
			}
			return o, errTaskHidden
		case types.TaskInfoStateQueued, types.TaskInfoStateRunning:
		default:
			return o, errTaskHidden
		}
		if meanwhile != nil {
			meanwhile(ctx)
		}
		if !sleep(ctx, wait) {
			return o, ctx.Err()
		}
	}
}
