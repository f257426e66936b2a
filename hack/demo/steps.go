//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/codeconnect/vmgroup-operator/api/v1alpha1"
	"github.com/codeconnect/vmgroup-operator/test/harness/assets"
	"github.com/codeconnect/vmgroup-operator/test/harness/await"
	"github.com/codeconnect/vmgroup-operator/test/harness/progress"
	"github.com/codeconnect/vmgroup-operator/test/harness/stack"
)

// patience is the timeout of each step. Steps take seconds, but can take minutes on a busy machine.
const patience = 10 * time.Minute

type demo struct {
	stack *stack.Stack
	out   *os.File
	began time.Time
	steps int
	// notes of the running step. They are printed after its table is final.
	notes []string
}

// step is an action with its checks.
type step struct {
	name string
	// types is what a person would type to do or to see it.
	types string
	run   func(context.Context) error
}

// play runs steps until one fails.
func (d *demo) play(ctx context.Context, steps []step) error {
	for _, s := range steps {
		if err := d.step(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// step runs one step with its timeout, and shows the live table below it.
func (d *demo) step(ctx context.Context, s step) error {
	d.steps++
	d.printf("\n")
	d.fold(fmt.Sprintf("── %d. ", d.steps), "   ", s.name)
	d.printf("   $ %s\n", s.types)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	table := newTable(d)
	if err := table.start(ctx); err != nil {
		return err
	}
	err := s.run(ctx)
	table.stop()
	for _, note := range d.notes {
		d.fold("   ✓ ", "     ", note)
	}
	d.notes = nil
	if err != nil {
		return fmt.Errorf("step %d (%s): %w", d.steps, s.name, err)
	}
	return nil
}

// sampleOf applies one of the original operator's samples to a member.
func (d *demo) sampleOf(ctx context.Context, member, file string) error {
	root, err := assets.Root()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(root, "config", "samples", file))
	if err != nil {
		return err
	}
	group := &v1alpha1.VmGroup{}
	if err := yaml.UnmarshalStrict(content, group); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if group.Namespace == "" {
		group.Namespace = metav1.NamespaceDefault
	}
	return d.createGroup(ctx, member, group)
}

func (d *demo) createGroup(ctx context.Context, member string, group *v1alpha1.VmGroup) error {
	if err := d.stack.Members[member].Create(ctx, group); err != nil {
		return fmt.Errorf("apply %s to %s: %w", group.Name, member, err)
	}
	return nil
}

func (d *demo) apply(ctx context.Context) error {
	replicas := int32(2)
	web := &v1alpha1.VmGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec:       v1alpha1.VmGroupSpec{CPU: 2, Memory: 4, Template: "debian-12", Replicas: &replicas},
	}
	began := time.Now()
	err := errors.Join(
		d.sampleOf(ctx, "team-a", "vg-1.yaml"),
		d.sampleOf(ctx, "team-a", "vg-2.yaml"),
		// A group of the same name in another member is another group.
		d.sampleOf(ctx, "team-b", "vg-1.yaml"),
		d.createGroup(ctx, "team-b", web),
	)
	if err != nil {
		return err
	}
	if _, err := d.group(ctx, "team-a", "vg-1", func(g *v1alpha1.VmGroup) bool { return g.Status.ReadyReplicas > 0 }); err != nil {
		return err
	}
	d.note("The first VM runs after %s, %s after the demo began.", since(began), progress.Elapsed(time.Since(d.began)))
	if err := errors.Join(
		d.running(ctx, "team-a", "vg-1", 3), d.running(ctx, "team-b", "vg-1", 3), d.running(ctx, "team-b", "web", 2),
	); err != nil {
		return err
	}
	d.note("8 VMs run after %s.", since(began))
	vg2, err := d.group(ctx, "team-a", "vg-2", func(g *v1alpha1.VmGroup) bool { return g.Status.Phase == v1alpha1.PhaseError })
	if err != nil {
		return err
	}
	if !strings.Contains(vg2.Status.LastMessage, vg2.Spec.Template) {
		return fmt.Errorf("vg-2's message does not name its template %q: %s", vg2.Spec.Template, vg2.Status.LastMessage)
	}
	return d.exactly(ctx, 8)
}

func (d *demo) scale(ctx context.Context) error {
	if err := d.patch(ctx, "team-a", "vg-1", `{"spec":{"replicas":5}}`); err != nil {
		return err
	}
	began := time.Now()
	if err := d.running(ctx, "team-a", "vg-1", 5); err != nil {
		return err
	}
	d.note("2 more VMs run after %s.", since(began))
	return d.exactly(ctx, 10)
}

func (d *demo) powerOff(ctx context.Context) error {
	vm, err := d.vm(ctx, "team-a", "vg-1", "vg-1-0")
	if err != nil {
		return err
	}
	path, err := d.pathOf(ctx, vm.MoRef)
	if err != nil {
		return err
	}
	if err := d.stack.Person.PowerOff(ctx, path); err != nil {
		return err
	}
	began := time.Now()
	err = await.Condition(ctx, "vg-1-0 to be powered on again", func(ctx context.Context) (bool, error) {
		vms, err := d.stack.Person.VMs(ctx)
		return vms[path].On, err
	})
	if err != nil {
		return err
	}
	d.note("Powered on again after %s.", since(began))
	return errors.Join(d.running(ctx, "team-a", "vg-1", 5), d.exactly(ctx, 10))
}

func (d *demo) deleteVM(ctx context.Context) error {
	vm, err := d.vm(ctx, "team-a", "vg-1", "vg-1-3")
	if err != nil {
		return err
	}
	path, err := d.pathOf(ctx, vm.MoRef)
	if err != nil {
		return err
	}
	if err := d.stack.Person.Destroy(ctx, path); err != nil {
		return err
	}
	began := time.Now()
	_, err = d.group(ctx, "team-a", "vg-1", func(g *v1alpha1.VmGroup) bool {
		for _, v := range g.Status.VMs {
			if v.Name == vm.Name && v.MoRef != vm.MoRef && v.Phase == v1alpha1.VMReady {
				return true
			}
		}
		return false
	})
	if err != nil {
		return err
	}
	d.note("Replaced and ready after %s.", since(began))
	return errors.Join(d.running(ctx, "team-a", "vg-1", 5), d.exactly(ctx, 10))
}

func (d *demo) fixTemplate(ctx context.Context) error {
	vg2, err := d.group(ctx, "team-a", "vg-2", func(*v1alpha1.VmGroup) bool { return true })
	if err != nil {
		return err
	}
	d.note("It says: %s", vg2.Status.LastMessage)
	if err := d.patch(ctx, "team-a", "vg-2", `{"spec":{"template":"vm-operator-template"}}`); err != nil {
		return err
	}
	began := time.Now()
	replicas := *vg2.Spec.Replicas
	if err := d.running(ctx, "team-a", "vg-2", replicas); err != nil {
		return err
	}
	d.note("Runs after %s, without a restart of anything.", since(began))
	return d.exactly(ctx, 10+int(replicas))
}

func (d *demo) deleteAll(ctx context.Context) error {
	for name, member := range d.stack.Members {
		if err := member.DeleteAllOf(ctx, &v1alpha1.VmGroup{}, client.InNamespace("default")); err != nil {
			return fmt.Errorf("delete the groups of %s: %w", name, err)
		}
	}
	began := time.Now()
	for name, member := range d.stack.Members {
		if err := await.Condition(ctx, "the groups of "+name+" to be gone", func(ctx context.Context) (bool, error) {
			groups := &v1alpha1.VmGroupList{}
			err := member.List(ctx, groups)
			return len(groups.Items) == 0, err
		}); err != nil {
			return err
		}
	}
	if err := d.exactly(ctx, 0); err != nil {
		return err
	}
	vms, err := d.stack.Person.VMs(ctx)
	if err != nil {
		return err
	}
	left := slices.Sorted(maps.Keys(vms))
	d.note("Gone after %s. Left in vCenter is what was never ours: %s.", since(began), strings.Join(left, ", "))
	return nil
}

// ours counts the VMs below the operator's root folder in vCenter.
func (d *demo) ours(ctx context.Context) (int, error) {
	vms, err := d.stack.Person.VMs(ctx)
	n := 0
	for path := range vms {
		if strings.HasPrefix(path, "/DC0/vm/vm-operator/") {
			n++
		}
	}
	return n, err
}

// sortedCounts formats counts in the order of their names.
func sortedCounts(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if name != "" {
			parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
		}
	}
	return strings.Join(parts, ", ")
}

// exactly checks the number of VMs below the operator's root folder in vCenter.
func (d *demo) exactly(ctx context.Context, want int) error {
	vms, err := d.stack.Person.VMs(ctx)
	if err != nil {
		return err
	}
	var ours []string
	for path := range vms {
		if strings.Contains(path, "/vm-operator/") {
			ours = append(ours, path)
		}
	}
	if len(ours) != want {
		return fmt.Errorf("vCenter holds %d VMs below the operator's folder, want %d: %s", len(ours), want, strings.Join(ours, ", "))
	}
	d.note("vCenter holds exactly %d of our VMs.", want)
	return nil
}

func (d *demo) running(ctx context.Context, member, name string, vms int32) error {
	_, err := d.group(ctx, member, name, func(g *v1alpha1.VmGroup) bool {
		return g.Status.ObservedGeneration == g.Generation && g.Status.Phase == v1alpha1.PhaseRunning &&
			g.Status.ReadyReplicas == vms && g.Status.Replicas == vms
	})
	return err
}

// group waits until a group matches wanted, and returns it.
func (d *demo) group(ctx context.Context, member, name string, wanted func(*v1alpha1.VmGroup) bool) (*v1alpha1.VmGroup, error) {
	group := &v1alpha1.VmGroup{}
	err := await.Condition(ctx, fmt.Sprintf("VmGroup %s in %s", name, member), func(ctx context.Context) (bool, error) {
		err := d.stack.Members[member].Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, group)
		return err == nil && wanted(group), err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; its last message: %s", err, group.Status.LastMessage)
	}
	return group, nil
}

func (d *demo) vm(ctx context.Context, member, group, name string) (v1alpha1.VMStatus, error) {
	g, err := d.group(ctx, member, group, func(*v1alpha1.VmGroup) bool { return true })
	if err != nil {
		return v1alpha1.VMStatus{}, err
	}
	for _, vm := range g.Status.VMs {
		if vm.Name == name {
			return vm, nil
		}
	}
	return v1alpha1.VMStatus{}, fmt.Errorf("status of %s does not list %s", group, name)
}

// pathOf returns the inventory path of a VM.
func (d *demo) pathOf(ctx context.Context, moRef string) (string, error) {
	vms, err := d.stack.Person.VMs(ctx)
	for path, vm := range vms {
		if vm.Ref.Value == moRef {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s in vCenter: %w", moRef, errors.Join(err, os.ErrNotExist))
}

func (d *demo) patch(ctx context.Context, member, name, patch string) error {
	group := &v1alpha1.VmGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	return d.stack.Members[member].Patch(ctx, group, client.RawPatch("application/merge-patch+json", []byte(patch)))
}
